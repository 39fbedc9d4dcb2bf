/** Results as Markdown. */
import type { Goal, ScenarioResult, Table } from '../scenario.ts'
import { verdictOf } from './text.ts'

const cell = (value: string | number) => String(value).replaceAll('|', '\\|')

export function tableMarkdown({ title, columns, rows }: Table): string {
  const row = (cells: readonly (string | number)[]) => `| ${cells.map(cell).join(' | ')} |`
  const rule = `|${columns.map((_, at) => (at === 0 ? '---' : '---:')).join('|')}|`
  return [`**${title}**`, '', row(columns), rule, ...rows.map(row)].join('\n')
}

export function resultMarkdown(result: ScenarioResult): string {
  const { tables, goals, failures = [] } = result
  const notes = [...result.notes, ...failures.map((failure) => `**FAILED**: ${failure}`)]
  return [
    ...tables.map(tableMarkdown),
    ...(goals.length > 0 ? [goalsMarkdown(goals)] : []),
    ...(notes.length > 0 ? [notes.map((note) => `- ${note}`).join('\n')] : []),
  ].join('\n\n')
}

function goalsMarkdown(goals: readonly Goal[]): string {
  const rows = goals.map((goal) => {
    const { what, is, wanted } = goal
    const bound = 'atLeast' in wanted ? `at least ${wanted.atLeast}` : `at most ${wanted.atMost}`
    return [what, is, bound, verdictOf(goal)]
  })
  return tableMarkdown({ title: 'Goals', columns: ['', 'is', 'wanted', ''], rows })
}
