/** Where things are said (LOGS §2.1). `fields` become fields of the line; an error is given as `err`. */
export interface Log {
  debug(msg: string, fields?: Record<string, unknown>): void
  info(msg: string, fields?: Record<string, unknown>): void
  warn(msg: string, fields?: Record<string, unknown>): void
  error(msg: string, fields?: Record<string, unknown>): void
}

export const silent: Log = { debug() {}, info() {}, warn() {}, error() {} }
