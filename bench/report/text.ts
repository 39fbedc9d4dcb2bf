/** Results as printed text. */
import type { Goal, ScenarioResult, Table } from '../scenario.ts'

export function isMet({ is, wanted: expected, isVoid = false }: Goal): boolean {
  if (isVoid) return false
  return 'atLeast' in expected ? is >= expected.atLeast : is <= expected.atMost
}

export function goalText(goal: Goal): string {
  const { what, is, wanted: expected } = goal
  const bound = 'atLeast' in expected ? `≥ ${expected.atLeast}` : `≤ ${expected.atMost}`
  return `${what}: ${is}, goal ${bound}: ${verdictOf(goal)}`
}

export function verdictOf(goal: Goal): string {
  if (goal.isVoid === true) return 'VOID'
  return isMet(goal) ? 'met' : 'not met'
}

/** Aligned columns; the first one to the left, the others to the right. */
export function tableText({ title, columns, rows }: Table): string {
  const cells = [columns, ...rows.map((row) => row.map(String))]
  const widths = columns.map((_, at) => Math.max(...cells.map((row) => row[at]?.length ?? 0)))
  const lines = cells.map((row) =>
    row
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join('  ')
      .trimEnd(),
  )
  return [title, ...lines.map((line) => `  ${line}`)].join('\n')
}

export function resultText({
  tables,
  ratios,
  goals,
  notes,
  failures = [],
}: ScenarioResult): string {
  const named = Object.entries(ratios).map(([name, ratio]) => `${name} ${ratio.toFixed(3)}`)
  return [
    ...tables.map(tableText),
    ...(named.length > 0 ? [`Ratios: ${named.join(', ')}`] : []),
    ...goals.map(goalText),
    ...notes,
    ...failures.map((failure) => `FAILED: ${failure}`),
  ].join('\n')
}
