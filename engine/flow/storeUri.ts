import { MillraceError } from '../errors.ts'

/** Where objects are kept; `path` is absolute, without a slash at its end. */
export type StorePlace = { kind: 'file'; path: string }

/** The value of `store:` (DESIGN §7). Throws `config-invalid` with what would be right. */
export function readStoreUri(text: string): StorePlace {
  if (/^s3:\/\//i.test(text)) {
    throw invalid(`${text}: buckets are not in this version`, 'a folder is: file:///var/lib/millrace')
  }
  if (/^[A-Za-z]:[\\/]/.test(text))
    throw invalid(`${text}: a drive is no place for a store`, right('/var/lib/millrace'))
  const scheme = /^([A-Za-z][A-Za-z0-9+.-]*):/.exec(text)?.[1]
  if (scheme === undefined) throw invalid(`${text || 'nothing'} has no scheme`, right(absolute(text)))
  if (scheme.toLowerCase() !== 'file') {
    throw invalid(`${text}: there is no store of the kind ${scheme}`, right('/var/lib/millrace'))
  }
  return { kind: 'file', path: folderOf(text, text.slice('file:'.length)) }
}

function folderOf(text: string, rest: string): string {
  if (!rest.startsWith('///')) {
    throw invalid(`${text}: the path must be absolute, with three slashes before it`, right(absolute(rest)))
  }
  if (/[?#]/.test(rest)) throw invalid(`${text}: ? and # are written %3F and %23`, right('/var/lib/millrace'))
  const path = decoded(text, rest.slice(2)).replace(/\/+$/, '')
  const parts = path.split('/').slice(1)
  if (path === '') throw invalid(`${text}: the root of the machine is no store`, right('/var/lib/millrace'))
  if (parts.some(part => part === '' || part === '.' || part === '..')) {
    throw invalid(`${text}: the path has an empty part, '.' or '..'`, right(plain(path)))
  }
  if (path.includes('\0')) throw invalid(`${text}: the path has a zero byte`, right('/var/lib/millrace'))
  return path
}

function decoded(text: string, path: string): string {
  try {
    return decodeURIComponent(path)
  } catch {
    throw invalid(`${text}: a % is written %25`, right(path.replaceAll('%', '%25')))
  }
}

/** What somebody may have meant, as an absolute path. */
function absolute(path: string): string {
  const rest = plain(path.replace(/^~(?=\/|$)/, ''))
  return path.startsWith('/') && rest !== '/' ? rest : `/path/to${rest === '/' ? '/store' : rest}`
}

function plain(path: string): string {
  const parts: string[] = []
  for (const part of path.split('/')) {
    if (part === '..') parts.pop()
    else if (part !== '' && part !== '.') parts.push(part)
  }
  return `/${parts.join('/')}`
}

function right(path: string): string {
  return `write file://${path.startsWith('/') ? path : `/${path}`}`
}

function invalid(message: string, hint: string): MillraceError {
  return new MillraceError('config-invalid', `store: ${message}`, { hint })
}
