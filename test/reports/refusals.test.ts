/** Wrong definitions are refused by name, when they are saved and when they are run. */
import fc from 'fast-check'
import { beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../src/admin/actions/table.ts'
import type { RuleContext } from '../../src/entities/rules/rule.ts'
import { REPORT_RULES } from '../../src/reports/entity-rules.ts'
import { type Fields, useActionServer } from '../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../support/reports/report-tenant.ts'

const api = useActionServer(ACTIONS, REPORT_ENV)
beforeAll(() => addReportTenant(api.catalog()))

const BASE = { entity: 'usage', columns: [{ field_name: 'stamp', key: 's' }] }
const CARD = 'payment_gateway.active.card_token'
const CARD_TEXT = `${CARD} has secrets`
const CARD_FORMAT = { field: 'c', op: 'default_empty', value: 'x' }
const card = (more: Fields) => ({ entity: 'customer', columns: [{ field_name: 'aid' }], ...more })
const grouped = (column: Fields) => ({ entity: 'usage', type: 1, columns: [column] })
const where = (field: string, op: unknown, value?: unknown) => ({
  ...BASE,
  conditions: [{ field, op, value }],
})
const shown = (op: unknown, value?: unknown) => ({ ...BASE, formats: [{ field: 's', op, value }] })

/** Refused when it is saved, too. */
const WRONG: readonly [report: Fields, text: string][] = [
  [{ entity: 'nothing', columns: [] }, 'Invalid entity type'],
  [{ ...BASE, entity: 7 }, 'Invalid entity type'],
  [{ ...BASE, entity: 'users' }, 'Invalid entity type'],
  [{ ...BASE, entity: 'queue' }, 'Invalid entity type: there are no records of queue here'],
  [{ ...BASE, type: 2 }, 'type must be 0 (simple) or 1 (grouped)'],
  [{ ...BASE, columns: 'stamp' }, 'columns must be a list'],
  [{ ...BASE, columns: ['stamp'] }, 'columns.0 must be an object'],
  [{ ...BASE, columns: [{}] }, 'columns.0.field_name must be the name of a field'],
  [{ ...BASE, columns: [{ field_name: '$where' }] }, 'columns.0.field_name must be the name'],
  [{ ...BASE, columns: [{ field_name: 'a.$b' }] }, 'columns.0.field_name must be the name'],
  [{ ...BASE, columns: [{ field_name: '__proto__' }] }, 'columns.0.field_name must be the name'],
  [{ ...BASE, columns: [{ field_name: 'secret' }] }, 'secret is not a field of usage'],
  [{ ...BASE, columns: [{ field_name: 'stamp', key: '__proto__' }] }, 'columns.0.key'],
  [{ ...BASE, columns: [{ field_name: 'stamp', label: {} }] }, 'columns.0.label must be a text'],
  [{ ...BASE, columns: [...BASE.columns, ...BASE.columns] }, 'columns: s is declared twice'],
  [{ ...BASE, columns: Array(101).fill({}) }, 'columns must have at most 100 members'],
  [grouped({ field_name: 'stamp' }), 'Invalid group by operator'],
  [grouped({ field_name: 'stamp', op: 'median' }), 'Invalid group by operator median'],
  [where('stamp', 'regex', 'x'), 'Invalid filter operator regex'],
  [where('stamp', undefined), 'Invalid filter operator'],
  [where('nothing', 'eq', 1), 'nothing is not a field of usage'],
  [card({ conditions: [{ field: CARD, op: 'starts_with', value: 'v2' }] }), CARD_TEXT],
  [
    card({ conditions: [{ field: 'payment_gateway.active', op: 'gt', value: 'a' }] }),
    'has secrets',
  ],
  [card({ sorts: [{ field: CARD, op: 1 }] }), CARD_TEXT],
  [card({ columns: [{ field_name: CARD, key: 'c' }], sorts: [{ field: 'c', op: 1 }] }), CARD_TEXT],
  [card({ columns: [{ field_name: CARD, op: 'group' }], type: 1 }), CARD_TEXT],
  [card({ columns: [{ field_name: CARD, op: 'max' }], type: 1 }), CARD_TEXT],
  [card({ columns: [{ field_name: CARD, key: 'c' }], formats: [CARD_FORMAT] }), CARD_TEXT],
  [where('sid', 'eq', 'x'), 'conditions.0.value must be a number'],
  [where('sid', 'eq', { $gt: 0 }), 'conditions.0.value must be a number'],
  [where('stamp', 'eq', { $gt: '' }), 'conditions.0.value must be a text'],
  [where('stamp', 'in', Array(1001).fill('x')), 'conditions.0.value must have at most 1000'],
  [where('urt', 'gt', 'soon'), 'conditions.0.value must be a date'],
  [where('late', 'eq', 'maybe'), 'conditions.0.value must be true or false'],
  [where('_id', 'eq', 'x'), 'conditions.0.value must be an id'],
  [where('usagev', 'between', [1]), 'conditions.0.value must have two values'],
  [where('usagev', 'between', 5), 'conditions.0.value must have two values'],
  [where('usagev', 'like', 'x'), 'conditions.0.value searches a text, but usagev is a number'],
  [where('stamp', 'like', ''), 'conditions.0.value must not be empty'],
  [where('stamp', 'like', 'x'.repeat(257)), 'conditions.0.value must be a text of at most 256'],
  [where('stamp', 'last_days', 3), 'conditions.0.value is a time, but stamp is a text'],
  [where('urt', 'last_days', 0), 'conditions.0.value must be an integer from 1'],
  [where('urt', 'lt_constant', 'never'), 'conditions.0.value must be one of current_time'],
  [where('billrun', 'lt', 'confirmed'), 'conditions.0.value is not one cycle'],
  [{ ...BASE, conditions: Array(101).fill({}) }, 'conditions must have at most 100 members'],
  [{ ...BASE, sorts: Array(21).fill({}) }, 'sorts must have at most 20 members'],
  [{ ...BASE, formats: Array(201).fill({}) }, 'formats must have at most 200 members'],
  [where('stamp', '$where', 'sleep(1000)'), 'Invalid filter operator $where'],
  [where('stamp', 'eq', { $function: {} }), 'conditions.0.value must be a text'],
  [where('uf.note', 'eq', { $regex: '(a+)+$' }), 'conditions.0.value must be a text'],
  [where('stamp', 'like', { $regex: '(a+)+$' }), 'conditions.0.value must be a text'],
  [{ ...BASE, sorts: [{ field: 's', op: 2 }] }, 'sorts.0.op must be 1 or -1'],
  [{ ...BASE, sorts: [{ field: 'no', op: 1 }] }, 'sorts.0.field: no is not a field of usage'],
  [
    { ...grouped({ field_name: 'sid', op: 'sum' }), sorts: [{ field: 'stamp', op: 1 }] },
    'sorts.0.field: there is no column stamp',
  ],
  [{ ...BASE, formats: [{ field: 'x', op: 'json' }] }, 'formats: there is no column x'],
  [shown('upper'), 'formats.0.op must be one of'],
  [shown('date_format', ''), "formats.0.value must be a format such as 'd/m/Y'"],
  [shown('date_format', 'd/m/Y e'), "formats.0.value has 'e', which is not supported"],
  [shown('date_format', '--'), 'formats.0.value has no part of a date'],
  [shown('date_override', 'first monday'), 'formats.0.value must be words'],
  [shown('billing_cycle', 'middle'), 'formats.0.value must be one of start, end'],
  [shown('vat_format', 'x'), 'formats.0.value must be one of add_tax, remove_tax'],
  [shown('currency_format', 'x'), 'formats.0.value must be one of code, symbol'],
  [shown('multiplication', 'x'), 'formats.0.value must be a number'],
  [shown('rename_true', {}), 'formats.0.value must be a text'],
  [
    { entity: 'customer', columns: [{ field_name: 'stamp', entity: 'usage' }] },
    'No support to join customer with those entities: usage',
  ],
  [
    { ...BASE, conditions: [{ field: 'due', entity: 'bills', op: 'gt', value: 1 }] },
    'No support to join usage with those entities: bills',
  ],
]

const save = (report: Fields) =>
  REPORT_RULES.check?.({ ...report } as never, null, {} as RuleContext)

describe.each(WRONG)('%j', (report, text) => {
  it(`is refused: ${text}`, async () => {
    const answer = await api.ask('report', { report }, { as: 'json' })
    expect(answer).toMatchObject({ http: 200, status: 0, code: 17_577 })
    expect(answer['desc']).toContain(text)
    expect(answer['message']).toBe(answer['desc'])
  })

  it('cannot be saved', async () => {
    await expect(save(report)).rejects.toThrow(text)
  })
})

it.each([
  [{ columns: [] }, 'Report entity is empty'],
  [{ entity: 'usage' }, 'Columns list is empty, nothing to display'],
  [{ entity: 'usage', columns: [] }, 'Columns list is empty, nothing to display'],
])('a draft %j can be saved, and not run', async (report, text) => {
  await save(report)
  const answer = await api.ask('report', { report })
  expect(answer).toMatchObject({ status: 0, desc: text, message: text })
})

it.each([
  [{}, 'Require to supply one of the following fields: key, _id, report'],
  [{ report: '[1]' }, 'Field report should be of type Object'],
  [{ report: 'text' }, 'Field report should be of type Object'],
  [{ action: 'x' }, 'Report controller - cannot find action: x'],
  [{ report: BASE, size: 10_001 }, 'Field size must be at most 10000'],
  [{ report: BASE, size: -2 }, 'Field size must be at least -1'],
  [{ report: BASE, page: -1 }, 'Field page must be at least 0'],
  [{ report: BASE, type: 'xml' }, 'Field type must be one of csv, file'],
  [{ report: BASE, delimiter: ';;' }, 'Field delimiter must be one character'],
  [{ report: BASE, headers: 'perhaps' }, 'Field headers should be of type Boolean'],
  [{ report: BASE, file_format: 'xls' }, 'Field file_format must be one of csv, ndjson'],
])('%j: %s', async (params, text) => {
  expect(await api.ask('report', params)).toMatchObject({ status: 0, desc: text, message: text })
})

const anything = fc.oneof(
  fc.jsonValue({ maxDepth: 2 }),
  fc.constantFrom<unknown>('usage', 'stamp', 'urt', 'eq', 'in', 'between', 'group', 'sum', 1, -1),
  fc.constantFrom<unknown>('date_format', 'd/m/Y', 'last_days', 'current', { min: 1, max: 2 }),
)
const NAMES = ['key', 'field_name', 'field', 'op', 'value', 'label', 'entity', 'type'] as const
const parts = fc.array(fc.dictionary(fc.constantFrom(...NAMES), anything, { maxKeys: 6 }), {
  maxLength: 3,
})

it('any definition is refused by name, or has rows', async () => {
  const definition = fc.record({
    entity: fc.constantFrom<unknown>('usage', 'customer', 'bills', 'subscription', {}, null),
    type: fc.constantFrom<unknown>(0, 1, '1', null),
    columns: fc.oneof(parts, fc.constant([{ field_name: 'aid', op: 'group', key: 'a' }])),
    conditions: parts,
    sorts: parts,
    formats: parts,
  })
  await fc.assert(
    fc.asyncProperty(definition, async (report) => {
      const sent = JSON.parse(JSON.stringify(report)) as Fields
      const answer = await api.ask('report', { report: sent }, { as: 'json' })
      expect(answer.http, answer.text).toBe(200)
      expect(['string', 'object'], answer.text).toContain(typeof answer['desc'])
    }),
    { numRuns: 300 },
  )
})
