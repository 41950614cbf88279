import type { Redactor } from '../engine/flow/redactor.ts'

type Stream = { write(text: string): unknown; isTTY?: boolean; columns?: number; writableNeedDrain?: boolean }

/** A stream that nothing secret is written to (CREDENTIALS K-15): what a broker says may hold what it was told. */
export function redacted(stream: Stream, { redact }: Redactor): Stream {
  return {
    write: text => stream.write(redact(text)),
    get isTTY() {
      return stream.isTTY === true
    },
    get columns() {
      return stream.columns ?? 80
    },
    get writableNeedDrain() {
      return stream.writableNeedDrain === true
    },
  }
}
