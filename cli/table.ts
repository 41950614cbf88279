/** Rows in columns as wide as their widest cell; `numbers` are the columns that stand at the right. */
export function tableOf(titles: readonly string[], rows: readonly string[][], numbers: ReadonlySet<string>): string {
  const all = [titles, ...rows]
  const widths = titles.map((_, column) => all.reduce((widest, row) => Math.max(widest, row[column]?.length ?? 0), 0))
  const cell = (text: string, column: number) => {
    const width = widths[column] ?? 0
    return numbers.has(titles[column] ?? '') ? text.padStart(width) : text.padEnd(width)
  }
  return all.map(row => `${row.map(cell).join('  ').trimEnd()}\n`).join('')
}
