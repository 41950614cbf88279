/** Whether a host, by its name or address alone, is this machine. */
export function isLoopback(host: string): boolean {
  return /^(localhost|127\.\d{1,3}\.\d{1,3}\.\d{1,3}|::1|0{1,4}(:0{1,4}){6}:0{0,3}1)$/i.test(host)
}
