/**
 * TypeScript with comments and the insides of strings replaced by blanks of the same length, so that a rule meets
 * neither a sentence that speaks of `process.` nor an import inside a string, and places stay true.
 * TypeScript 7 has no stable compiler API: this knows strings, templates, comments and regular expressions, no more.
 */
export function blanked(text: string): string {
  const out: string[] = []
  /** Open braces of each `${` we are in; the code inside a template is code. */
  const braces: number[] = []
  let at = 0
  const keep = (end: number) => {
    out.push(text.slice(at, end))
    at = end
  }
  const blank = (end: number) => {
    out.push(text.slice(at, end).replace(/[^\n]/g, ' '))
    at = end
  }
  /** The quotes stay: where they stand, an import names its file. */
  const string = (end: number) => {
    keep(at + 1)
    blank(end - 1)
    keep(end)
  }
  const template = () => {
    const end = templateEnd(text, at + 1)
    const opens = text.startsWith('${', end)
    blank(opens ? end : end + 1)
    if (!opens) return
    keep(end + 2)
    braces.push(0)
  }
  while (at < text.length) {
    const char = text[at]
    const inTemplate = braces.length - 1
    if (text.startsWith('//', at)) blank(orEnd(text, text.indexOf('\n', at)))
    else if (text.startsWith('/*', at)) blank(orEnd(text, text.indexOf('*/', at + 2) + 2))
    else if (char === "'" || char === '"') string(closing(text, at + 1, char))
    else if (char === '`') template()
    else if (char === '/' && startsRegExp(text, at)) blank(regExpEnd(text, at + 1))
    else if (char === '}' && inTemplate >= 0 && braces[inTemplate] === 0) {
      braces.pop()
      template()
    } else {
      if (inTemplate >= 0 && (char === '{' || char === '}'))
        braces[inTemplate] = (braces[inTemplate] ?? 0) + (char === '{' ? 1 : -1)
      keep(at + 1)
    }
  }
  return out.join('')
}

const orEnd = (text: string, index: number) => (index < 2 ? text.length : index)

/** Behind the closing quote; a string that does not close ends with its line. */
function closing(text: string, from: number, quote: string): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === quote) return at + 1
    else if (text[at] === '\n') return at
  }
  return text.length
}

/** Where the piece of a template ends: at its closing backtick or at `${`. */
function templateEnd(text: string, from: number): number {
  for (let at = from; at < text.length; at++) {
    if (text[at] === '\\') at++
    else if (text[at] === '`' || text.startsWith('${', at)) return at
  }
  return text.length
}

/** A slash divides after a value, and opens a regular expression after anything else. */
function startsRegExp(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - 40), at).trimEnd()
  return /(^|[(,=:[!&|?{};>+*%~^<-]|\b(return|typeof|case|in|of|await|yield))$/.test(before)
}

function regExpEnd(text: string, from: number): number {
  let inClass = false
  for (let at = from; at < text.length; at++) {
    const char = text[at]
    if (char === '\\') at++
    else if (char === '[') inClass = true
    else if (char === ']') inClass = false
    else if (char === '\n') return at
    else if (char === '/' && !inClass) return at + 1
  }
  return text.length
}
