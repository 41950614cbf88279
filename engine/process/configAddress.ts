/** A broker's place. */
export type HostPort = { host: string; port: number }

/** `host:port` as text; an IPv6 address stands in brackets. Null: it is none. */
export function addressOf(text: string): HostPort | null {
  const match = /^(?:\[([0-9A-Fa-f:.%a-z]+)\]|([^\s:[\]/]+)):(\d{1,5})$/.exec(text)
  const port = Number(match?.[3])
  const host = match?.[1] ?? match?.[2]
  if (host === undefined || port < 1 || port > 65_535) return null
  return { host, port }
}

/** What may be wrong with a text that is no address; null when there is no guess. `before` = what stands before an address. */
export function addressHint(text: string, before = ''): string | null {
  if (/^\w[\w+.-]*:\/\//.test(text)) return 'without the scheme'
  if ((text.match(/:/g) ?? []).length > 1) return `an IPv6 address stands in brackets: ${before}[::1]:9092`
  return null
}
