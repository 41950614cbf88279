import { inflateRawSync } from 'node:zlib'

const endSignature = 0x06054b50
const endBytes = 22
const deflated = 8

/** The files of a zip archive by name, inflated when asked for; no zip64, no encryption. */
export function filesInZip(zip: Buffer): Map<string, () => Buffer> {
  const end = endOf(zip)
  const files = new Map<string, () => Buffer>()
  let at = zip.readUInt32LE(end + 16)
  for (let n = zip.readUInt16LE(end + 10); n > 0; n--) {
    const nameBytes = zip.readUInt16LE(at + 28)
    const name = zip.toString('utf8', at + 46, at + 46 + nameBytes)
    const method = zip.readUInt16LE(at + 10)
    const bytes = zip.readUInt32LE(at + 20)
    const local = zip.readUInt32LE(at + 42)
    files.set(name, () => {
      const from = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const content = zip.subarray(from, from + bytes)
      return method === deflated ? inflateRawSync(content) : content
    })
    at += 46 + nameBytes + zip.readUInt16LE(at + 30) + zip.readUInt16LE(at + 32)
  }
  return files
}

/** The record at the end, which says where the list of files begins; a comment may follow it. */
function endOf(zip: Buffer): number {
  for (let at = zip.length - endBytes; at >= 0; at--) if (zip.readUInt32LE(at) === endSignature) return at
  throw new Error('this is no zip archive')
}
