/** Lines, subscribers, accounts and bills to report on. */
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { Exact, storedAmount } from '../../../src/catalog/records/money/exact-amount.ts'
import { createSealer } from '../../../src/catalog/sealing/sealing.ts'

export const REPORT_ENV = {
  TOLLGATE_RATING_TIME_ZONE: 'Asia/Kolkata',
  TOLLGATE_RATING_CYCLE_DAY: '1',
  TOLLGATE_RATING_DEFAULT_TAX: 'DEFAULT_VAT',
  TOLLGATE_RATING_CURRENCY_CODE: '978',
}

const FROM = new Date('2020-01-01')
const TO = new Date('2170-01-01')
const common = () => ({ _id: new ObjectId(), rev: 1, from: FROM, to: TO })
const line = (stamp: string, more: object) => ({
  stamp,
  v: 1,
  type: 'realtime',
  source: 'realtime',
  ...more,
})

/** Half past midnight of 2026-06-02 in Kolkata is still June 1 in UTC. */
const LATE = new Date('2026-06-01T19:00:00Z')

export const LINES: readonly object[] = [
  line('a', {
    ...{ aid: 1, sid: 11, plan: 'GOLD', usaget: 'data', usagev: 100, aprice: 0.1 },
    ...{ billrun: '202607', urt: new Date('2026-06-01T10:00:00Z'), late: false },
    ...{
      called_number: '=HYPERLINK("x")',
      uf: { note: 'a, "b"\nc' },
      tax_data: { total_tax: 0.17 },
    },
  }),
  line('b', {
    ...{ aid: 1, sid: 11, plan: 'GOLD', usaget: 'data', usagev: 200, aprice: 0.2 },
    ...{ billrun: '202607', urt: LATE, late: true, called_number: '+49123' },
  }),
  line('c', {
    ...{ aid: 2, sid: 21, plan: 'SILVER', usaget: 'call', usagev: 60, aprice: 1.15 },
    ...{ billrun: '202606', urt: new Date('2026-05-20T10:00:00Z'), late: false },
  }),
  line('d', {
    ...{ aid: 2, sid: 99, usaget: 'call', usagev: 30, aprice: -0.3, type: 'credit', label: '-1+1' },
    ...{ billrun: '202606', urt: new Date('2026-05-21T10:00:00Z') },
  }),
]

const bill = (type: string, aid: number, due: string, more: object) => ({
  type,
  aid,
  due: storedAmount(new Exact(due)),
  amount: storedAmount(new Exact(due).abs()),
  ...more,
})

const invoice = (aid: number, key: string, due: string, left: string) =>
  bill('inv', aid, due, {
    billrun_key: key,
    invoice_id: aid * 1000 + Number(key.slice(4)),
    urt: new Date(`${key.slice(0, 4)}-${key.slice(4)}-02T00:00:00Z`),
    left_to_pay: storedAmount(new Exact(left)),
    paid: left === '0' ? '1' : '0',
  })

const cycle = (aid: number, key: string, subs: readonly [string, string][]) => ({
  aid,
  billrun_key: key,
  billed: 1,
  subs: subs.map(([plan, amount], index) => ({
    ...{ aid, sid: index, plan, totals: { exact: { before_vat: amount } } },
  })),
})

export async function addReportTenant(catalog: Catalog): Promise<void> {
  const insert = async (
    name: 'taxes' | 'subscribers' | 'lines' | 'bills' | 'billrun',
    documents: readonly object[],
  ) => {
    await catalog[name].insertMany(documents as never)
  }
  const subscriber = (sid: number, aid: number, firstname: string, more: object = {}) => ({
    ...{ ...common(), type: 'subscriber', sid, aid, firstname, plan: 'GOLD', ...more },
  })
  const account = (aid: number, lastname: string, more: object = {}) => ({
    ...{ ...common(), type: 'account', aid, lastname, ...more },
  })
  const card_token = createSealer('a key of tests').seal('token')
  const ended = { to: new Date('2025-01-01') }
  await insert('taxes', [{ ...common(), key: 'DEFAULT_VAT', rate: 0.17, embed_tax: false }])
  await insert('subscribers', [
    subscriber(11, 1, 'Ada'),
    subscriber(11, 1, 'Former', { ...ended, to: new Date('2021-01-01') }),
    subscriber(21, 2, 'Bob', { deleted: false }),
    subscriber(31, 2, 'Gone', { deleted: true }),
    account(1, 'Byron', { payment_gateway: { active: { name: 'x', card_token } } }),
    account(2, 'Hopper'),
    account(3, 'Old', ended),
  ])
  await insert('lines', LINES)
  await insert('bills', [
    invoice(1, '202605', '0.1', '0'),
    invoice(1, '202606', '0.2', '0.2'),
    invoice(2, '202606', '10.05', '4'),
    bill('rec', 2, '-6.05', { urt: new Date('2026-05-30T00:00:00Z'), txid: '0000000000001' }),
  ])
  await insert('billrun', [
    cycle(1, '202605', [
      ['GOLD', '0.1'],
      ['', '7'],
    ]),
    cycle(3, '202605', [['SILVER', '1']]),
    cycle(1, '202606', [
      ['GOLD', '0.1'],
      ['GOLD', '0.2'],
    ]),
    cycle(2, '202606', [['SILVER', '10']]),
  ])
}
