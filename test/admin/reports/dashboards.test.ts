/** Dashboards: figures by billing cycle, up to the last confirmed one. */
import { beforeAll, describe, expect, it } from 'vitest'
import { ACTIONS } from '../../../src/admin/actions/table.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addReportTenant, REPORT_ENV } from '../../support/admin/reports/report-tenant.ts'

const api = useActionServer(ACTIONS, REPORT_ENV)
const ask = (action: string, how = {}) =>
  api.ask('reports', { action }, { as: 'query', method: 'GET', ...how })

it('without a confirmed cycle there are no rows', async () => {
  expect(await ask('totalRevenue')).toMatchObject({ status: true, desc: 'success', details: [] })
})

const REVENUE = [
  { billrun_key: '202605', due: 0.1 },
  { billrun_key: '202606', due: 10.25 },
]

describe('with confirmed cycles', () => {
  beforeAll(() => addReportTenant(api.catalog()))

  it.each([
    ['totalRevenue', REVENUE],
    ['revenueOverTime', REVENUE],
    [
      'totalNumOfCustomers',
      [
        { billrun_key: '202605', customers_num: 2 },
        { billrun_key: '202606', customers_num: 2 },
      ],
    ],
    [
      'customerStateDistribution',
      [
        { state: 'existing', customers_num: 1 },
        { state: 'new', customers_num: 1 },
        { state: 'churn', customers_num: 1 },
      ],
    ],
    [
      'planByCustomers',
      [
        { plan: 'GOLD', amount: 2, prev_amount: 1 },
        { plan: 'SILVER', amount: 1, prev_amount: 1 },
      ],
    ],
    [
      'revenueByPlan',
      [
        { plan: 'SILVER', amount: 10, prev_amount: 1 },
        { plan: 'GOLD', amount: 0.3, prev_amount: 0.1 },
      ],
    ],
    ['agingDebt', [{ billrun_key: '202606', left_to_pay: 4.2 }]],
  ])('%s', async (action, details) => {
    const answer = await ask(action)
    expect(answer).toMatchObject({ status: true, desc: 'success' })
    expect(answer['details']).toEqual(details)
  })

  it.each(['outstandingDebt', 'debtOverTime'])(
    '%s is what was owed at the end of each cycle',
    async (action) => {
      const { details } = await ask(action)
      expect(details).toHaveLength(12)
      // The invoice of 2026-05-02 is within the cycle 202606, as are the payment and no other bill.
      expect((details as object[]).slice(-3)).toEqual([
        { billrun_key: '202604', due: 0 },
        { billrun_key: '202605', due: 0 },
        { billrun_key: '202606', due: -5.95 },
      ])
    },
  )

  it('revenueByPlan has eight plans, and one row for the others', async () => {
    const subs = Array.from({ length: 10 }, (_, index) => ({
      plan: `P${index}`,
      totals: { exact: { before_vat: String(100 - index) } },
    }))
    await api
      .catalog()
      .billrun.insertOne({ aid: 9, billrun_key: '202606', billed: 1, subs } as never)
    const { details } = await ask('revenueByPlan')
    expect(details).toHaveLength(9)
    expect((details as object[]).at(-1)).toEqual({
      plan: 'others',
      amount: 193.3,
      prev_amount: 1.1,
    })
  })

  it('needs the permission to read bills', async () => {
    expect(await ask('totalRevenue', { role: 'reports', user: 'bills/get' })).toMatchObject({
      status: 0,
      code: 17_575,
    })
  })

  it('that do not exist are refused by name', async () => {
    expect(await ask('nothing')).toMatchObject({
      status: 0,
      desc: 'Reports controller - cannot find action: nothing',
    })
  })
})
