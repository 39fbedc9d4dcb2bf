/**
 * Reads a table that is written as text: cells between bars, the first line names the columns,
 * lines of dashes are skipped.
 */
export function readTable(text: string): Record<string, string>[] {
  const lines = text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line.startsWith('|') && !line.startsWith('|-'))
  const [head = [], ...rows] = lines.map((line) =>
    line
      .slice(1, -1)
      .split('|')
      .map((cell) => cell.trim()),
  )
  return rows.map((cells) => {
    if (cells.length !== head.length) throw new Error(`a row has other columns: ${cells.join('|')}`)
    return Object.fromEntries(head.map((name, index) => [name, cells[index] ?? '']))
  })
}
