/** Lines at a terminal that are drawn over themselves, with what has to be said above them. */
export function redrawn(stream: { write(text: string): unknown; columns?: number }): {
  draw(lines: readonly string[]): void
  above(line: string): void
} {
  let shown: readonly string[] = []
  /** Back to the first line, and away with them. */
  const erase = () => (shown.length === 0 ? '' : `\r\u001b[${shown.length}A\u001b[J`)
  return {
    draw(lines) {
      const cut = lines.map(line => line.slice(0, (stream.columns ?? 80) - 1))
      stream.write(`${erase()}${cut.map(line => `${line}\n`).join('')}`)
      shown = cut
    },
    above(line) {
      stream.write(`${erase()}${line}\n${shown.map(one => `${one}\n`).join('')}`)
    },
  }
}
