const token =
  /[[\]{},:]|"(?:[^"\\\p{Cc}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null/uy
const space = /[ \t\r\n]*/y

/** What may come next: a value, a value or the end of the empty list, a name, and so on. */
type Next = 'value' | 'first' | 'name' | 'firstName' | 'colon' | 'comma' | 'end'

/** Where a text stops being JSON, which the engine does not always tell; its length when something is missing. */
export function badJsonAt(text: string): number {
  const open: ('{' | '[')[] = []
  let next: Next = 'value'
  for (let at = 0; ; ) {
    space.lastIndex = at
    space.exec(text)
    at = space.lastIndex
    token.lastIndex = at
    const found = token.exec(text)?.[0]
    if (found === undefined) return at
    const after = step(found, next, open)
    if (after === null) return at
    next = after
    at += found.length
  }
}

function step(found: string, next: Next, open: ('{' | '[')[]): Next | null {
  const closed = () => (open.length === 0 ? 'end' : 'comma')
  const isEnd =
    (next === 'comma' || next === 'first' || next === 'firstName') && found === (open.at(-1) === '{' ? '}' : ']')
  if (isEnd && open.pop() !== undefined) return closed()
  if (next === 'colon') return found === ':' ? 'value' : null
  if (next === 'comma') return found !== ',' ? null : open.at(-1) === '{' ? 'name' : 'value'
  if (next === 'name' || next === 'firstName') return found.startsWith('"') ? 'colon' : null
  if (next === 'end' || /^[\]},:]/.test(found)) return null
  if (found === '{' || found === '[') {
    open.push(found)
    return found === '{' ? 'firstName' : 'first'
  }
  return closed()
}
