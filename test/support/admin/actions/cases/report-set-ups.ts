/** Set-up of reports: a tenant with lines, bills and confirmed cycles. */
import { expect } from 'vitest'
import { ACTIONS } from '../../../../../src/admin/actions/table.ts'
import { ObjectId } from '../../../../../src/catalog/collections.ts'
import { eventWith, storeEvents } from '../../../catalog/events.ts'
import { addReportTenant, REPORT_ENV } from '../../../reports/report-tenant.ts'
import { type Fields, useActionServer } from '../action-server.ts'
import type { SetUp } from './set-up.ts'
import type { World } from './steps.ts'

const period = { rev: 1, from: new Date(0), to: new Date('2170-01-01') }
const byPlan = {
  ...{ ...period, entity: 'usage', type: 1 as const, user: 'ada' },
  columns: [
    { key: 'plan', field_name: 'plan', label: 'Plan', op: 'group' },
    { key: 'n', field_name: 'sid', label: 'Lines', op: 'count' },
  ],
  conditions: [{ field: 'type', op: 'eq', value: 'realtime' }],
  sorts: [{ field: 'plan', op: 1 }],
}
const onAccount = { field: 'lastname', entity: 'customer', op: 'exists', value: true }

/** With saved reports, of which `$byPlan` is the id of BY_PLAN. */
export function reports(): SetUp {
  const env = { ...REPORT_ENV, TOLLGATE_AUDIT_READS: 'lines,accounts' }
  const server = useActionServer(ACTIONS, env)
  const id = new ObjectId()
  return {
    server,
    async prepare() {
      await addReportTenant(server.catalog())
      const usage = { ...period, entity: 'usage', columns: [{ field_name: 'stamp' }] }
      await server.catalog().reports.insertMany([
        { ...byPlan, _id: id, key: 'BY_PLAN' },
        { ...usage, _id: new ObjectId(), key: 'JOINED', conditions: [onAccount] },
        { ...usage, _id: new ObjectId(), key: 'ENDED', to: new Date('2021-01-01') },
        { ...usage, _id: new ObjectId(), key: 'DELETED', deleted: true },
        {
          ...{ ...period, _id: new ObjectId(), key: 'BILLS', entity: 'bills' },
          columns: [{ field_name: 'due' }],
        },
      ])
    },
    variablesOf: () => ({
      byPlan: id.toHexString(),
      tenPlans: Array.from({ length: 10 }, (_, index) => ({
        plan: `P${index}`,
        totals: { exact: { before_vat: String(100 - index) } },
      })),
    }),
    verbs: {
      event: (_world: World, stamp: string, fields: Fields) =>
        storeEvents(server.catalog(), eventWith(stamp, fields)),
      /** Rows that meet conditions, by their stamps of one letter. */
      async stamps(_world: World, conditions: Fields[], expected: string, entity = 'usage') {
        const sorts = [{ field: 'stamp', op: 1 }]
        const report = { entity, columns: [{ field_name: 'stamp' }], conditions, sorts }
        const answer = await server.ask('report', { report })
        expect(answer, answer.text).toMatchObject({ http: 200, status: 1, desc: 'success' })
        const rows = answer['details'] as { stamp: string }[]
        expect(rows.map(({ stamp }) => stamp).join('')).toBe(expected)
      },
    },
  }
}
