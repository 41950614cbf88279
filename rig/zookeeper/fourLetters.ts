import { connect } from 'node:net'
import { askTimeoutMs } from '../limits.ts'

/** ZooKeeper's oldest protocol: four letters in, a text out, end. Rejects when nobody listens or nobody answers. */
export function fourLetters(port: number, word: 'srvr' | 'ruok'): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = ''
    const socket = connect({ host: '127.0.0.1', port }, () => socket.write(word))
    socket.setEncoding('utf8')
    socket.setTimeout(askTimeoutMs, () => socket.destroy(new Error(`no answer in ${askTimeoutMs} ms`)))
    socket.on('data', text => {
      answer += text
    })
    socket.on('error', reject)
    socket.on('close', () => resolve(answer))
  })
}
