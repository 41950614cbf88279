import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { plainSecrets } from '../../../engine/adapters/local/plainSecrets.ts'

const folder = mkdtempSync(join(tmpdir(), 'millrace-secrets-'))
after(() => rmSync(folder, { recursive: true }))
const write = (name: string, content: string | Buffer) => {
  const path = join(folder, name)
  writeFileSync(path, content)
  return { file: path }
}
const secrets = plainSecrets({ GIVEN: 'text', BLANK: ' \n' })

test('a file and a variable are read, and their version is the hash of their bytes', async () => {
  const versionId = createHash('sha256').update('text').digest('hex').slice(0, 32)
  assert.deepEqual(await secrets.read(write('good', 'text')), { versionId, text: 'text' })
  assert.deepEqual(await secrets.read({ env: 'GIVEN' }), { versionId, text: 'text' })
})

test('what is missing, empty, too large, no text or no file is told apart', async () => {
  await assert.rejects(secrets.read({ file: join(folder, 'none') }), {
    code: 'secret-missing',
    message: /none is not there/,
  })
  await assert.rejects(secrets.read({ file: join(write('a', 'x').file, 'b') }), { code: 'secret-missing' })
  await assert.rejects(secrets.read({ env: 'NONE' }), { code: 'secret-missing', message: /variable NONE is not set/ })
  await assert.rejects(secrets.read({ env: 'BLANK' }), { code: 'secret-empty' })
  await assert.rejects(secrets.read(write('empty', '')), { code: 'secret-empty' })
  await assert.rejects(secrets.read(write('blank', ' \n')), { code: 'secret-empty' })
  await assert.rejects(secrets.read(write('large', Buffer.alloc(65_537, 97))), {
    code: 'secret-invalid',
    message: /65536/,
  })
  assert.equal((await secrets.read(write('full', Buffer.alloc(65_536, 97)))).text.length, 65_536)
  await assert.rejects(secrets.read(write('bytes', Buffer.from([0xff]))), { code: 'secret-invalid', message: /UTF-8/ })
  mkdirSync(join(folder, 'dir'))
  await assert.rejects(secrets.read({ file: join(folder, 'dir') }), {
    code: 'secret-invalid',
    message: /no regular file/,
  })
})

test('a file that this user may not read is denied', {
  skip: process.getuid?.() === 0 ? 'root may' : false,
}, async () => {
  const place = write('locked', 'text')
  chmodSync(place.file, 0)
  await assert.rejects(secrets.read(place), { code: 'secret-denied', hint: /chmod 600/ })
})

test('K-13: in a stage secrets are not taken from files and variables', async () => {
  const staged = plainSecrets({ MILLRACE_STAGE: 'prod', GIVEN: 'text' })
  await assert.rejects(staged.read({ env: 'GIVEN' }), { code: 'config-invalid', hint: /K-13/ })
})
