/** Results as Markdown, without void rows and goals: they are printed, but not published. */
import type { Goal, ScenarioResult, Table } from '../scenario.ts'
import { verdictOf } from './text.ts'

const cell = (value: string | number) => String(value).replaceAll('|', '\\|')

export function tableMarkdown({ title, columns, rows }: Table): string {
  const row = (cells: readonly (string | number)[]) => `| ${cells.map(cell).join(' | ')} |`
  const rule = `|${columns.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`
  const valid = rows.filter((cells) => !cells.some((one) => /\bVOID\b/.test(String(one))))
  return [`**${title}**`, '', row(columns), rule, ...valid.map(row)].join('\n')
}

export function resultMarkdown(result: ScenarioResult): string {
  const { tables, failures = [] } = result
  const goals = result.goals.filter((goal) => goal.isVoid !== true)
  const notes = [...result.notes, ...failures.map((failure) => `**FAILED**: ${failure}`)]
  return [
    ...tables.map(tableMarkdown),
    ...(goals.length > 0 ? [goalsMarkdown(goals)] : []),
    ...(notes.length > 0 ? [notes.map((note) => `- ${note}`).join('\n')] : []),
  ].join('\n\n')
}

function goalsMarkdown(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => {
    const { what, is, wanted: expected } = goal
    const bound =
      'atLeast' in expected ? `at least ${expected.atLeast}` : `at most ${expected.atMost}`
    return [what, is, bound, verdictOf(goal)]
  })
  return tableMarkdown({ title: 'Goals', columns: ['', 'is', 'goal', ''], rows })
}
