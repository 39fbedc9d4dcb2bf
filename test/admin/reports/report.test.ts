/** Rows of reports. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { type Fields, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../../support/admin/reports/report-tenant.ts'
import { eventWith, storeEvents } from '../../support/catalog/events.ts'

const api = useActionServer(ACTIONS, REPORT_ENV)
beforeAll(() => addReportTenant(api.catalog()))

const run = async (report: Fields, more: Fields = {}): Promise<Fields> => {
  const answer = await api.ask('report', { report, ...more })
  expect(answer, answer.text).toMatchObject({ http: 200, status: 1, desc: 'success' })
  return answer
}
const rowsOf = async (report: Fields, more: Fields = {}): Promise<Fields[]> =>
  (await run(report, more))['details'] as Fields[]

const column = (field_name: string, more: Fields = {}) => ({ field_name, ...more })
const STAMP = [column('stamp')]
const stamps = async (conditions: readonly Fields[], entity = 'usage') => {
  const sorts = [{ field: 'stamp', op: 1 }]
  const rows = await rowsOf({ entity, columns: STAMP, conditions, sorts })
  return rows.map(({ stamp }) => stamp).join('')
}

describe('a simple report', () => {
  it('shows columns by key, in local time, exactly', async () => {
    const rows = await rowsOf({
      entity: 'usage',
      type: 0,
      columns: [
        column('sid', { key: 'subscriber', label: 'Subscriber' }),
        column('urt'),
        column('aprice'),
        column('late'),
        column('uf.note', { key: 'note' }),
      ],
      conditions: [{ field: 'sid', op: 'eq', value: 11 }],
      sorts: [{ field: 'urt', op: -1 }],
    })
    expect(rows).toEqual([
      { subscriber: 11, urt: '2026-06-02T00:30:00+0530', aprice: 0.2, late: 'TRUE', note: null },
      {
        ...{ subscriber: 11, urt: '2026-06-01T15:30:00+0530', aprice: 0.1, late: 'FALSE' },
        note: 'a, "b"\nc',
      },
    ])
  })

  it('is answered in pages', async () => {
    const report = { entity: 'usage', columns: STAMP, sorts: [{ field: 'stamp', op: -1 }] }
    const first = await run(report, { size: 3 })
    expect(first).toMatchObject({ details: [{ stamp: 'd' }, { stamp: 'c' }, { stamp: 'b' }] })
    expect(first['next_page']).toBe(true)
    expect(first['execution_time']).toMatch(/^\d+\.\d\d$/)
    const second = await run(report, { size: 3, page: 1 })
    expect(second).toMatchObject({ details: [{ stamp: 'a' }], next_page: false })
  })

  it('shows revisions that are active now, unless it has conditions on their dates', async () => {
    const columns = [column('firstname')]
    const sorts = [{ field: 'firstname', op: 1 }]
    const active = await rowsOf({ entity: 'subscription', columns, sorts })
    expect(active.map(({ firstname }) => firstname)).toEqual(['Ada', 'Bob'])
    const conditions = [{ field: 'to', op: 'lt', value: '2022-01-01' }]
    const former = await rowsOf({ entity: 'subscription', columns, conditions })
    expect(former).toEqual([{ firstname: 'Former' }])
  })
})

describe('a grouped report', () => {
  it('sums exactly what binary fractions cannot', async () => {
    const rows = await rowsOf({
      entity: 'usage',
      type: 1,
      columns: [
        column('plan', { op: 'group' }),
        column('aprice', { key: 'total', op: 'sum' }),
        column('aprice', { key: 'mean', op: 'avg' }),
        column('stamp', { key: 'n', op: 'count' }),
        column('stamp', { key: 'all', op: 'push' }),
        column('usaget', { key: 'kinds', op: 'addToSet' }),
        column('urt', { key: 'newest', op: 'max' }),
        column('usagev', { key: 'least', op: 'min' }),
        column('stamp', { key: 'one', op: 'first' }),
        column('stamp', { key: 'end', op: 'last' }),
      ],
      sorts: [{ field: 'plan', op: -1 }],
    })
    const silver = { plan: 'SILVER', total: 1.15, mean: 1.15, n: 1, all: ['c'], kinds: ['call'] }
    const gold = { plan: 'GOLD', total: 0.3, mean: 0.15, n: 2, all: ['a', 'b'], kinds: ['data'] }
    expect(rows).toEqual([
      { ...silver, newest: '2026-05-20T15:30:00+0530', least: 60, one: 'c', end: 'c' },
      { ...gold, newest: '2026-06-02T00:30:00+0530', least: 100, one: 'a', end: 'b' },
      expect.objectContaining({ plan: null, total: -0.3 }),
    ])
  })

  it('groups dates by what their format shows, in the time zone of the installation', async () => {
    const report = {
      entity: 'usage',
      type: 1,
      columns: [
        column('urt', { key: 'day', op: 'group' }),
        column('aprice', { key: 'sum', op: 'sum' }),
      ],
      sorts: [{ field: 'day', op: 1 }],
    }
    const formatted = (value: string) =>
      rowsOf({ ...report, formats: [{ field: 'day', op: 'date_format', value }] })
    expect(await formatted('d/m/Y')).toEqual([
      { day: '20/05/2026', sum: 1.15 },
      { day: '21/05/2026', sum: -0.3 },
      { day: '01/06/2026', sum: 0.1 },
      { day: '02/06/2026', sum: 0.2 },
    ])
    expect(await formatted('M y')).toEqual([
      { day: 'May 26', sum: 0.85 },
      { day: 'Jun 26', sum: 0.3 },
    ])
    expect(await formatted('l')).toHaveLength(4)
  })

  it('names columns without a key after their field, with __ for dots', async () => {
    const rows = await rowsOf({
      entity: 'usage',
      type: 1,
      columns: [column('tax_data.total_tax', { op: 'group' })],
    })
    expect(rows).toContainEqual({ tax_data__total_tax: 0.17 })
  })

  it('without groups has one row', async () => {
    const columns = [column('usagev', { op: 'sum' })]
    expect(await rowsOf({ entity: 'usage', type: 1, columns })).toEqual([{ usagev: 390 }])
  })
})

describe('joins', () => {
  it('adds the active subscriber and account of usage, if there is one', async () => {
    const rows = await rowsOf({
      entity: 'usage',
      columns: [
        column('stamp'),
        column('firstname', { entity: 'subscription' }),
        column('lastname', { entity: 'customer' }),
      ],
      sorts: [{ field: 'stamp', op: 1 }],
    })
    expect(rows).toEqual([
      { stamp: 'a', firstname: 'Ada', lastname: 'Byron' },
      { stamp: 'b', firstname: 'Ada', lastname: 'Byron' },
      { stamp: 'c', firstname: 'Bob', lastname: 'Hopper' },
      { stamp: 'd', firstname: null, lastname: 'Hopper' },
    ])
  })

  it('groups and filters by the joined entity', async () => {
    const rows = await rowsOf({
      entity: 'subscription',
      type: 1,
      columns: [
        column('firstname', { op: 'group' }),
        column('aprice', { entity: 'usage', key: 'sum', op: 'sum' }),
      ],
      conditions: [{ entity: 'usage', field: 'usaget', op: 'eq', value: 'data' }],
    })
    expect(rows).toEqual([{ firstname: 'Ada', sum: 0.3 }])
  })
})

const CONDITIONS: readonly [field: string, op: string, value: unknown, stamps: string][] = [
  ['sid', 'eq', 11, 'ab'],
  ['sid', 'eq', '11', 'ab'],
  ['sid', 'ne', '11', 'cd'],
  ['sid', 'in', '11,21', 'abc'],
  ['sid', 'nin', [11, 21], 'd'],
  ['usagev', 'lt', 60, 'd'],
  ['usagev', 'lte', 60, 'cd'],
  ['usagev', 'gt', '100', 'b'],
  ['usagev', 'gte', 100, 'ab'],
  ['usagev', 'between', { min: 60, max: 100 }, 'ac'],
  ['usagev', 'between', [30, 60], 'cd'],
  ['plan', 'like', 'ol', 'ab'],
  ['plan', 'like', 'OL', 'ab'],
  ['plan', 'like', '.*', ''],
  ['plan', 'starts_with', 'SI', 'c'],
  ['plan', 'ends_with', 'ER', 'c'],
  ['plan', 'exists', false, 'd'],
  ['plan', 'exists', 1, 'abc'],
  ['late', 'is_true', '', 'b'],
  ['late', 'is_false', '', 'acd'],
  ['urt', 'gte', '2026-06-02', 'b'],
  ['urt', 'lt', '2026-06-01T10:00:00Z', 'cd'],
  ['urt', 'last_days', 14, 'ab'],
  ['urt', 'last_days', 13, 'b'],
  ['urt', 'last_days_include_today', 13, 'b'],
  ['urt', 'last_hours', 328, ''],
  ['urt', 'last_hours', 330, 'b'],
  ['urt', 'last_hours', 339, 'ab'],
  ['urt', 'lt_constant', 'current_start', 'cd'],
  ['urt', 'gte_constant', 'last_confirmed_start', 'abcd'],
  ['urt', 'lte_constant', 'last_confirmed_end', 'cd'],
  ['urt', 'lt_constant', 'current_end', 'abcd'],
  ['urt', 'gt_constant', 'first_unconfirmed_end', ''],
  ['urt', 'eq_constant', 'current_time', ''],
  ['urt', 'ne_constant', 'current_time', 'abcd'],
  ['urt', 'lt_constant', 'first_unconfirmed_start', 'cd'],
  ['urt', 'gt_constant', 'current_time', ''],
  ['billrun', 'eq', 'current', 'ab'],
  ['billrun', 'eq', 'last_confirmed', 'cd'],
  ['billrun', 'ne', 'confirmed', 'ab'],
  ['billrun', 'in', ['current', '202606'], 'abcd'],
  ['billrun', 'lt', 'current', 'cd'],
  ['uf.note', 'exists', true, 'a'],
]

it.each(CONDITIONS)('condition: %s %s %j', async (field, op, value, expected) => {
  expect(await stamps([{ field, op, value }])).toBe(expected)
})

it.each([
  ['in_range', '2026-05-01', ['Ada']],
  ['in_range', '2026-06-01', []],
  ['nin_range', '2026-06-01', ['Ada', 'Bob']],
])('condition on a list of periods: %s %s', async (op, value, expected) => {
  const services = [{ name: 'TV', from: new Date('2026-05-01'), to: new Date('2026-06-01') }]
  await api.catalog().subscribers.updateOne({ firstname: 'Ada' } as never, { $set: { services } })
  const conditions = [
    { field: 'services', op, value: `${value}T00:00:00Z` },
    { field: 'firstname', op: 'in', value: 'Ada,Bob' },
  ]
  const columns = [column('firstname')]
  const sorts = [{ field: 'firstname', op: 1 }]
  const rows = await rowsOf({ entity: 'subscription', columns, conditions, sorts })
  expect(rows.map(({ firstname }) => firstname)).toEqual(expected)
})

it('all conditions hold, also several on one field', async () => {
  const conditions = [
    { field: 'usagev', op: 'gt', value: 30 },
    { field: 'usagev', op: 'lt', value: 200 },
    { field: 'plan', op: 'ne', value: 'SILVER' },
  ]
  expect(await stamps(conditions)).toBe('a')
  expect(await stamps(conditions, 'usage_archive')).toBe('a')
})

const FORMATS: readonly [field: string, op: string, value: unknown, shown: unknown][] = [
  ['urt', 'date_format', 'd/m/Y', '02/06/2026'],
  ['urt', 'time_format', 'H:i:s', '00:30:00'],
  ['urt', 'datetime_format', 'D j M Y g:i A \\o W', 'Tue 2 Jun 2026 12:30 AM o 23'],
  ['urt', 'date_override', 'midnight +1 day', '2026-06-03T00:00:00+0530'],
  ['billrun', 'billing_cycle', 'start', '2026-06-01T00:00:00+0530'],
  ['billrun', 'billing_cycle', 'end', '2026-06-30T23:59:59+0530'],
  ['aprice', 'vat_format', 'add_tax', 0.234],
  ['aprice', 'vat_format', 'remove_tax', 0.17094],
  ['aprice', 'currency_format', '', '0.20 EUR'],
  ['aprice', 'currency_format', 'symbol', '€0.20'],
  ['aprice', 'multiplication', '3', 0.6],
  ['uf', 'json', '', null],
  ['late', 'rename_true', 'yes', 'yes'],
  ['late', 'rename_false', 'no', 'TRUE'],
  ['uf', 'default_empty', 'none', 'none'],
]

it.each(FORMATS)('format: %s %s %j', async (field, op, value, shown) => {
  const rows = await rowsOf({
    entity: 'usage',
    columns: [column(field, { key: 'x' })],
    conditions: [{ field: 'stamp', op: 'eq', value: 'b' }],
    formats: [{ field: 'x', op, value }],
  })
  expect(rows).toEqual([{ x: shown }])
})

it('formats are applied in their order', async () => {
  const rows = await rowsOf({
    entity: 'usage',
    type: 1,
    columns: [column('billrun', { op: 'group' }), column('aprice', { key: 'sum', op: 'sum' })],
    sorts: [{ field: 'sum', op: 1 }],
    formats: [
      { field: 'billrun', op: 'billing_cycle', value: 'start' },
      { field: 'billrun', op: 'date_format', value: 'Y-m-d' },
      { field: 'sum', op: 'multiplication', value: 100 },
      { field: 'sum', op: 'currency_format', value: 'code' },
    ],
  })
  expect(rows).toEqual([
    { billrun: '2026-06-01', sum: '30.00 EUR' },
    { billrun: '2026-05-01', sum: '85.00 EUR' },
  ])
})

it('money of bills is exact', async () => {
  const rows = await rowsOf({
    entity: 'bills',
    type: 1,
    columns: [
      column('type', { op: 'group' }),
      column('due', { op: 'sum' }),
      column('due', { key: 'most', op: 'max' }),
    ],
    sorts: [{ field: 'type', op: 1 }],
  })
  expect(rows).toEqual([
    { type: 'inv', due: 10.35, most: 10.05 },
    { type: 'rec', due: -6.05, most: -6.05 },
  ])
})

it('secrets and fields of the node are not shown', async () => {
  const columns = [column('payment_gateway', { key: 'x' })]
  const answer = await api.ask('report', { report: { entity: 'customer', columns } })
  expect(answer['details']).toContainEqual({ x: { active: { name: 'x' } } })
})

it('taxationReport sums the taxes of the last confirmed cycle', async () => {
  const { details } = await api.ask('report', { action: 'taxationReport' })
  expect(details).toEqual([
    { billrun: '202606', tax_rate: null, before_tax: 0.85, tax: 0, after_tax: 0 },
  ])
})

it('shows events with their delivery, and the subscriber and the account', async () => {
  const delivery = { state: 'dead', attempts: 9, error: 'HTTP status 503' } as const
  await storeEvents(
    api.catalog(),
    eventWith('e1', { aid: 1, sid: 11, delivery }),
    eventWith('e2', { aid: 2, sid: 99 }),
  )
  const report = {
    entity: 'event',
    columns: [
      ...STAMP,
      column('event_code'),
      column('delivery.error', { key: 'error' }),
      column('plan', { entity: 'subscription' }),
      column('lastname', { entity: 'customer' }),
    ],
    sorts: [{ field: 'stamp', op: 1 }],
  }
  const code = { event_code: 'MINUTES_80' }
  expect(await rowsOf(report)).toMatchObject([
    { stamp: 'e1', ...code, error: delivery.error, plan: 'GOLD', lastname: expect.any(String) },
    { stamp: 'e2', ...code, error: null, plan: null, lastname: expect.any(String) },
  ])
  const conditions = [{ field: 'delivery.state', op: 'eq', value: 'dead' }]
  expect(await rowsOf({ ...report, conditions })).toMatchObject([{ stamp: 'e1' }])
  const columns = [
    column('delivery.state', { key: 'state', op: 'group' }),
    column('stamp', { key: 'n', op: 'count' }),
  ]
  const sorts = [{ field: 'state', op: 1 }]
  expect(await rowsOf({ entity: 'event', type: 1, columns, sorts })).toEqual([
    { state: 'dead', n: 1 },
    { state: 'pending', n: 1 },
  ])
})
