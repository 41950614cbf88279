import { MillraceError } from '../errors.ts'
import { storeKeyBytesMax, storeKeyPartBytesMax } from '../limits.ts'

/** The first part that a folder keeps for itself: its lock, and what is not whole yet. */
export const storeOwnPart = '.millrace'

/**
 * Throws `config-invalid` for a key that not every store can keep, or that would leave it (DESIGN §6): the same for all
 * of them, so that what was written to a folder can be copied to a bucket.
 */
export function checkStoreKey(key: string): void {
  const why = faultOfKey(key)
  if (why === null) return
  const shown = JSON.stringify(key.length > 100 ? `${key.slice(0, 100)}…` : key)
  throw new MillraceError('config-invalid', `the key ${shown} ${why}`, {
    hint: 'a key is parts with a slash between them, such as fleet/state.json; parts from outside are percent-encoded',
  })
}

function faultOfKey(key: string): string | null {
  if (key === '') return 'is empty'
  if (!key.isWellFormed()) return 'is no Unicode'
  if (hasControl(key)) return 'has a control character'
  const bytes = bytesOf(key)
  if (bytes > storeKeyBytesMax) return `has ${bytes} bytes, at most ${storeKeyBytesMax}`
  const parts = key.split('/')
  if (parts[0] === storeOwnPart) return `begins with ${storeOwnPart}/, which a folder keeps for itself`
  for (const part of parts) {
    if (part === '') return 'has an empty part'
    if (part === '.' || part === '..') return `has the part '${part}', which would leave its place`
    if (bytesOf(part) > storeKeyPartBytesMax) return `has a part of more than ${storeKeyPartBytesMax} bytes`
  }
  return null
}

function hasControl(key: string): boolean {
  return [...key].some(character => character < ' ' || (character >= '\x7f' && character < '\xa0'))
}

function bytesOf(text: string): number {
  return new TextEncoder().encode(text).length
}
