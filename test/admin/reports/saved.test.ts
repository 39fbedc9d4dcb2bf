/** Saved reports: which there are, who may run them, and what is recorded. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../../support/admin/reports/report-tenant.ts'

const api = useActionServer(ACTIONS, { ...REPORT_ENV, TOLLGATE_AUDIT_READS: 'lines,accounts' })
const common = () => ({
  _id: new ObjectId(),
  rev: 1,
  from: new Date(0),
  to: new Date('2170-01-01'),
})
const USAGE = {
  ...common(),
  key: 'BY_PLAN',
  entity: 'usage',
  type: 1 as const,
  user: 'ada',
  columns: [
    { key: 'plan', field_name: 'plan', label: 'Plan', op: 'group' },
    { key: 'n', field_name: 'sid', label: 'Lines', op: 'count' },
  ],
  conditions: [{ field: 'type', op: 'eq', value: 'realtime' }],
  sorts: [{ field: 'plan', op: 1 }],
}
const JOINED = {
  ...common(),
  key: 'JOINED',
  entity: 'usage',
  columns: [{ field_name: 'stamp' }],
  conditions: [{ field: 'lastname', entity: 'customer', op: 'exists', value: true }],
}
const BILLS = { ...common(), key: 'BILLS', entity: 'bills', columns: [{ field_name: 'due' }] }

beforeAll(async () => {
  await addReportTenant(api.catalog())
  const ended = { ...USAGE, ...common(), key: 'ENDED', to: new Date('2021-01-01') }
  const deleted = { ...USAGE, ...common(), key: 'DELETED', deleted: true }
  await api.catalog().reports.insertMany([USAGE, BILLS, JOINED, ended, deleted])
})

const ROWS = [
  { plan: 'GOLD', n: 2 },
  { plan: 'SILVER', n: 1 },
]

describe('a saved report', () => {
  it.each([
    ['key', { key: 'BY_PLAN' }],
    ['_id', { _id: USAGE._id.toHexString() }],
    ['_id as in answers', { _id: { $id: USAGE._id.toHexString() } }],
  ])('is run by %s', async (_name, params) => {
    expect(await api.ask('report', params)).toMatchObject({ status: 1, details: ROWS })
  })

  it.each([
    [{ key: 'NONE' }, 'Report NONE not exist'],
    [{ key: 'ENDED' }, 'Report ENDED not exist'],
    [{ key: 'DELETED' }, 'Report DELETED not exist'],
    [{ _id: '5f0c7e1a9b3d4c6e8f7a0b1c' }, 'Report 5f0c7e1a9b3d4c6e8f7a0b1c not exist'],
    [{ _id: 'x' }, 'Report x not exist'],
    [{ action: 'exportCSV', report: 'NONE' }, 'Report NONE not exist'],
  ])('%j is refused', async (params, desc) => {
    expect(await api.ask('report', params)).toMatchObject({ status: 0, desc, message: desc })
  })
})

describe('GET /api/reports', () => {
  const list = async (how: object) => {
    const { details } = await api.ask('reports', {}, { as: 'query', method: 'GET', ...how })
    return (details as { key: string }[]).map(({ key }) => key)
  }

  it('lists the valid definitions by key', async () => {
    const { details } = await api.ask('reports', {}, { as: 'query', method: 'GET' })
    expect(details).toMatchObject([
      { key: 'BILLS', entity: 'bills', _id: { $id: BILLS._id.toHexString() } },
      { key: 'BY_PLAN', type: 1, columns: USAGE.columns, from: '1970-01-01T05:30:00+0530' },
      { key: 'JOINED' },
    ])
  })

  it('lists what the caller may read only', async () => {
    expect(await list({ role: 'reports', user: 'bills/get' })).toEqual(['BY_PLAN', 'JOINED'])
    expect(await list({ role: 'reports', user: 'lines/get' })).toEqual(['BILLS'])
    expect(await list({ role: 'reports', user: 'accounts/get' })).toEqual(['BILLS', 'BY_PLAN'])
  })
})

describe('permissions', () => {
  it.each([
    ['reports', 'ada', 1],
    ['write', 'ada', 1],
    ['read', 'ada', 0],
    ['reports', 'lines/get', 0],
    ['reports', 'reports/get', 0],
    ['admin', 'lines/get', 1],
  ])('role %s, caller %s: status %i', async (role, user, status) => {
    const answer = await api.ask('report', { key: 'BY_PLAN' }, { role, user })
    expect(answer['status'], answer.text).toBe(status)
    if (status === 0) expect(answer['code']).toBe(17_575)
  })

  it('a joined entity must be readable, too', async () => {
    const columns = [{ field_name: 'stamp' }, { field_name: 'lastname', entity: 'customer' }]
    const report = { entity: 'usage', columns }
    const how = { role: 'reports', user: 'accounts/get' }
    const answer = await api.ask('report', { report }, how)
    expect(answer).toMatchObject({ status: 0, message: expect.stringContaining('accounts') })
  })
})

it('reads of personal data are recorded before they are answered', async () => {
  const { audit } = api.catalog()
  await audit.deleteMany({})
  const columns = [{ field_name: 'stamp' }, { field_name: 'lastname', entity: 'customer' }]
  const conditions = [{ field: 'sid', op: 'eq', value: 11 }]
  await api.ask('report', { report: { entity: 'usage', columns, conditions } })
  await api.ask('report', { report: { entity: 'bills', columns: [{ field_name: 'due' }] } })
  await api.ask('report', { action: 'exportCSV', report: 'BY_PLAN' })
  const found = await audit.find({ type: 'report' }).sort({ 'chain.seq': 1 }).toArray()
  expect(found.map(({ collection, new: done }) => [collection, done])).toEqual([
    ['lines', { queried: ['sid'], shown: ['stamp'], rows: 2 }],
    ['accounts', { queried: [], shown: ['lastname'], rows: 2 }],
    ['lines', { queried: ['type'], shown: ['plan', 'sid'] }],
  ])
})
