/** docs/REPORTS.md: its example runs, and its tables are complete. */
import { readFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../src/admin/actions/table.ts'
import { conditionOpOf } from '../../src/reports/conditions.ts'
import { DASHBOARDS } from '../../src/reports/dashboards.ts'
import { GROUP_OPS } from '../../src/reports/definition.ts'
import { FORMAT_OPS } from '../../src/reports/formats.ts'
import { entityNamed, REPORT_ENTITIES } from '../../src/reports/report-entities.ts'
import { useActionServer } from '../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../support/reports/report-tenant.ts'

const text = readFileSync(new URL('../../docs/REPORTS.md', import.meta.url), 'utf8')
const api = useActionServer(ACTIONS, REPORT_ENV)
beforeAll(() => addReportTenant(api.catalog()))

const blockOf = (name: string) =>
  new RegExp(`\`\`\`${name}\\n([\\s\\S]*?)\`\`\``).exec(text)?.[1] ?? ''

/** The cells of the rows of the table with this heading. */
function table(heading: string): string[][] {
  const [, rows = ''] = text.split(`| ${heading} |`)
  const lines = rows.split('\n').slice(2)
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(0, end).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  )
}
const named = (cell = '') => [...cell.matchAll(/`([^`]+)`/g)].map(([, name]) => name ?? '')
const firsts = (heading: string) => table(heading).flatMap(([cell]) => named(cell))

describe('docs/REPORTS.md', () => {
  it('has an example with its CSV', async () => {
    const report: unknown = JSON.parse(blockOf('json report'))
    const { text: csv } = await api.ask('report', { report, type: 'csv' })
    expect(csv.replaceAll('\r\n', '\n')).toBe(blockOf('csv'))
  })

  it('lists the entities and their joins', () => {
    const found = table('entity | rows | can be joined with').map(([name, , joins]) => [
      ...named(name),
      ...named(joins),
    ])
    const expected = REPORT_ENTITIES.map((name) => [name, ...Object.keys(entityNamed(name).joins)])
    expect(found).toEqual(expected)
  })

  it('lists all operators, formats and dashboards', () => {
    expect(firsts('`op` of a column | value').sort()).toEqual([...GROUP_OPS].sort())
    const [conditions, formats] = text.split('## Formats')
    const ops = (part = '') =>
      (part.split('| `op` | `value` |')[1] ?? '')
        .split('\n')
        .filter((line) => line.startsWith('| `'))
        .flatMap((line) => named(line.split('|')[1]))
    expect(ops(conditions).map((op) => conditionOpOf(op))).toEqual(ops(conditions))
    expect(ops(conditions)).toHaveLength(26)
    expect(ops(formats?.split('## Files')[0]).sort()).toEqual([...FORMAT_OPS].sort())
    expect(firsts('`action` | rows').sort()).toEqual(Object.keys(DASHBOARDS).sort())
  })
})
