/** `POST /api/credit`: lines, taxes, cycles, installments, and the texts that clients parse. */
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { bulkcredit } from '../../../src/admin/actions/bulkcredit.ts'
import { credit } from '../../../src/admin/actions/credit.ts'
import { writeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { type Fields, NOW_MS, useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, creditLinesOf, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const api = useActionServer([credit, bulkcredit], TAXED)

beforeAll(() => addTenant(api.catalog()))
afterEach(async () => {
  await api.catalog().lines.deleteMany({})
  await api.catalog().billrun.deleteMany({})
  await api.catalog().config.deleteMany({})
  api.at(NOW_MS)
})

const FEE = { aid: 1001, sid: 7, rate: 'FEE_A', credit_time: '2026-06-10 10:00:00', usagev: 1 }

async function credited(params: Fields) {
  const answer = await api.ask('credit', { ...FEE, ...params })
  expect(answer).toMatchObject({ http: 200, status: 1, desc: 'success' })
  return creditLinesOf(api.catalog())
}

async function refused(params: Fields) {
  const answer = await api.ask('credit', params)
  expect(answer).toMatchObject({ http: 200, status: 0 })
  expect(answer['desc']).toBe(answer['message'])
  expect(await creditLinesOf(api.catalog())).toEqual([])
  return answer
}

describe('a credit by price', () => {
  it('is a line with tax and cycle when the answer is given', async () => {
    const params = { ...FEE, usagev: 3, aprice: 10, label: 'Late fee', reason: 'Reminder' }
    const answer = await api.ask('credit', params)
    expect(answer).toMatchObject({ status: 1, desc: 'success' })
    expect(answer['details']).toBeUndefined()
    expect(answer['input']).toMatchObject({ aid: '1001', label: 'Late fee' })
    const [line] = await creditLinesOf(api.catalog())
    expect(line).toMatchObject({
      stamp: answer['stamp'],
      type: 'credit',
      source: 'credit',
      usaget: 'charge',
      aid: 1001,
      sid: 7,
      usagev: 3,
      aprice: 30,
      prepriced: true,
      rate: 'FEE_A',
      label: 'Late fee',
      reason: 'Reminder',
      urt: new Date('2026-06-10T10:00:00Z'),
      credit_time: 1781085600,
      credit: { usagev: 3, credit_by: 'rate', rate: 'FEE_A', usaget: 'fee', aprice: 10 },
      skip_calc: ['unify'],
      final_charge: 35.1,
      tax_data: {
        total_amount: 5.1,
        total_tax: 0.17,
        taxes: [{ tax: 0.17, amount: 5.1, key: 'DEFAULT_VAT', type: 'vat', pass_to_customer: 1 }],
      },
      exact: { aprice: '30', tax: '5.1', final_charge: '35.1' },
      billrun: '202607',
    })
    expect(line).not.toHaveProperty('account_level')
    expect(line).not.toHaveProperty('installment_no')
    const audited = await api.catalog().audit.find({ type: 'credit' }).toArray()
    expect(audited.at(-1)).toMatchObject({
      collection: 'lines',
      key: answer['stamp'],
      new: { reason: 'Reminder', aprice: 30 },
      user: { name: 'ada' },
    })
  })

  it.each([
    [
      { aprice: -10, usagev: 2 },
      { usaget: 'refund', aprice: -20, final_charge: -23.4 },
    ],
    [
      { aprice: 10, usagev: 3, multiply_charge_by_volume: '0' },
      { aprice: 10, usagev: 3 },
    ],
    [
      { aprice: 0.1, usagev: 3 },
      { aprice: 0.3, exact: { aprice: '0.3' } },
    ],
    [{ aprice: '0.005', usagev: '0.1' }, { exact: { aprice: '0.0005', final_charge: '0.000585' } }],
    [{ aprice: '123456789012.000000000001' }, { exact: { aprice: '123456789012.000000000001' } }],
    [{ aprice: 0 }, { usaget: 'charge', aprice: 0, final_charge: 0 }],
    [
      { aprice: 10, usagev: 0 },
      { aprice: 0, usagev: 0 },
    ],
    [
      { aprice: 10, rate: 'UNTAXED' },
      { final_charge: 10, tax_data: { total_tax: 0, taxes: [] } },
    ],
    [{ aprice: 10, rate: 'REDUCED' }, { final_charge: 10.5 }],
    [{ aprice: 1.5, rate: 'ROUNDED' }, { final_charge: 1.76 }],
    [{ aprice: 10, credit_type: 'refund' }, { usaget: 'charge' }],
    [
      { aprice: 10, sid: 0 },
      { sid: 0, account_level: true },
    ],
    [{ aprice: 10, sid: 8 }, { sid: 8 }],
    [
      { aprice: 10, sid: 9, credit_time: '2026-07-01' },
      { sid: 9, billrun: '202608' },
    ],
  ])('%j is %j', async (params, line) => {
    expect(await credited(params)).toMatchObject([line])
  })

  it('is a line of its own each time', async () => {
    await credited({ aprice: 1 })
    expect(await credited({ aprice: 1 })).toHaveLength(2)
  })
})

describe('a credit by usage', () => {
  it.each([
    // Without included units and prepaid balances: the price of the plan, 0.01 per second.
    [
      { usagev: 90, credit_type: 'charge' },
      { usaget: 'charge', aprice: 0.9, price_of: 'plan GOLD' },
    ],
    [{ usagev: 90 }, { usaget: 'refund', aprice: -0.9, final_charge: -1.053 }],
    [
      { usagev: 90, credit_type: 'gift' },
      { usaget: 'refund', aprice: -0.9 },
    ],
    [{ usagev: 90, sid: 8, credit_type: 'charge' }, { aprice: 0.9 }],
    // The account pays the price of the rate, 0.1 per begun minute.
    [
      { usagev: 90, sid: 0, credit_type: 'charge' },
      { aprice: 0.2, price_of: 'BASE' },
    ],
    [{ usagev: 90.5, credit_type: 'charge' }, { aprice: 0.91 }],
    [{ usagev: 0, credit_type: 'charge' }, { aprice: 0 }],
    [{ usagev: -60, credit_type: 'charge' }, { aprice: -0.6 }],
  ])('%j is %j', async (params, line) => {
    const found = await credited({ rate: 'CALL_A', ...params })
    expect(found).toMatchObject([{ prepriced: false, usagev: 1, ...line }])
    expect(found[0]?.credit).toEqual({
      usagev: Number(params.usagev),
      credit_by: 'rate',
      rate: 'CALL_A',
      usaget: 'call',
    })
  })

  it('uses the first usage type of the rate', async () => {
    expect(await credited({ usagev: 2, credit_type: 'charge' })).toMatchObject([
      { aprice: 8, credit: { usaget: 'fee' } },
    ])
  })

  it('moves no balance', async () => {
    await credited({ rate: 'CALL_A', usagev: 90 })
    expect(await api.catalog().balances.countDocuments()).toBe(0)
  })
})

describe('the cycle of a credit', () => {
  const cycles = async (params: Fields, keys: readonly string[] = []) => {
    const billrun = keys.map((billrun_key, index) => ({ aid: index, billrun_key }))
    if (billrun.length > 0) await api.catalog().billrun.insertMany(billrun)
    return (await credited({ aprice: 1, ...params })).map((line) => line.billrun)
  }

  it.each([
    // Without invoices the active cycle is that of now, 202607.
    ['2026-06-15', [], '202607'],
    ['2026-07-01', [], '202608'],
    ['2026-12-31', [], '202701'],
    ['2020-01-01', [], '202607'],
    // The cycle after the newest one with invoices.
    ['2026-05-20', ['202605'], '202606'],
    ['2026-06-15', ['202605'], '202607'],
    ['2026-05-20', ['202606'], '202607'],
    ['2026-05-20', ['202604', '202606', '20260601120000'], '202607'],
    ['2026-06-20', ['202607'], '202608'],
    ['2026-09-15', ['202606'], '202610'],
    // That cycle began more than 60 days ago: the cycle of now.
    ['2026-03-10', ['202602'], '202607'],
    ['2026-05-10', ['202604'], '202607'],
  ])('of %s with invoices of %j is %s', async (time, keys, key) => {
    expect(await cycles({ credit_time: time }, keys)).toEqual([key])
  })

  it('is the requested one', async () => {
    expect(await cycles({ billrun_key: '202612' })).toEqual(['202612'])
  })

  it('is that of the last run until the invoice of the account is confirmed', async () => {
    const { billrun, cycleruns } = api.catalog()
    await cycleruns.insertOne({ _id: '202606', key: '202606' } as never)
    await billrun.insertMany([1001, 5].map((aid) => ({ aid, billrun_key: '202606' })))
    expect(await cycles({ credit_time: '2026-05-20' })).toEqual(['202606'])
    await api.catalog().lines.deleteMany({})
    await billrun.updateOne({ aid: 1001 }, { $set: { billed: 1 } })
    expect(await cycles({ credit_time: '2026-05-20' })).toEqual(['202607'])
    await cycleruns.deleteMany({})
  })

  it('is refused if it has invoices', async () => {
    await api.catalog().billrun.insertOne({ aid: 1, billrun_key: '202606' })
    const answer = await refused({ ...FEE, aprice: 1, billrun_key: '202606' })
    expect(answer['desc']).toBe('billrun_key: the cycle 202606 has ended, it has invoices')
  })
})

describe('installments', () => {
  it.each([
    [90, 1, 3, ['30', '30', '30']],
    [100, 1, 3, ['33.33', '33.33', '33.34']],
    [-100, 1, 3, ['-33.33', '-33.33', '-33.34']],
    [10, 3, 4, ['7.5', '7.5', '7.5', '7.5']],
    [0.05, 1, 3, ['0.01', '0.01', '0.03']],
    [0.01, 1, 2, ['0', '0.01']],
    ['10.005', 1, 2, ['5', '5.005']],
    [5, 1, 1, ['5']],
  ])('%d × %d in %i parts', async (aprice, usagev, installments, parts) => {
    const lines = await credited({ aprice, usagev, installments, label: 'Phone' })
    expect(lines.map((line) => line.exact.aprice)).toEqual(parts)
    for (const [index, line] of lines.entries()) {
      expect(line).toMatchObject({
        installments,
        installment_no: index + 1,
        first_installment: lines[0]?.stamp,
        invoice_label: 'Phone',
      })
    }
  })

  it('have the cycles after the first one', async () => {
    api.at(Date.parse('2024-05-10T12:00:00Z'))
    const params = { ...FEE, aprice: 90, installments: 3, credit_time: '2024-05-10' }
    const answer = await api.ask('credit', params)
    const lines = await creditLinesOf(api.catalog())
    expect(answer['stamp']).toBe(lines[0]?.stamp)
    expect(answer['stamps']).toEqual(lines.map(({ stamp }) => stamp))
    expect(lines.map(({ urt, billrun }) => [urt.toISOString(), billrun])).toEqual([
      ['2024-05-10T00:00:00.000Z', '202406'],
      ['2024-06-01T00:00:01.000Z', '202407'],
      ['2024-07-01T00:00:01.000Z', '202408'],
    ])
  })

  it('begin in the requested cycle', async () => {
    const lines = await credited({ aprice: 90, installments: 3, billrun_key: '202611' })
    expect(lines.map(({ billrun }) => billrun)).toEqual(['202611', '202612', '202701'])
  })

  it('are due at once by prepone', async () => {
    await credited({ aprice: 90, installments: 3 })
    const params = { action: 'prepone', sid: 7, aid: 1001, reason: 'Closed' }
    const answer = await api.ask('credit', params)
    expect(answer).toMatchObject({ status: 1, details: null })
    const lines = await creditLinesOf(api.catalog())
    expect(lines.map(({ billrun }) => billrun)).toEqual(['202607', '202607', '202607'])
    expect(lines.map(({ preponed }) => preponed)).toEqual([
      undefined,
      new Date(NOW_MS),
      new Date(NOW_MS),
    ])
    expect(await api.ask('credit', params)).toMatchObject({ status: 1, details: null })
    const audited = await api.catalog().audit.find({ type: 'prepone' }).toArray()
    expect(audited).toMatchObject([{ new: { reason: 'Closed', billrun: '202607' } }])
  })

  it.each([{}, { sid: 7 }, { aid: 1 }, { sid: 'x', aid: 1 }])(
    'are not preponed for %j',
    async (params) => {
      const answer = await refused({ action: 'prepone', ...params })
      expect(answer['desc']).toBe('Illegal sid/aid')
    },
  )
})

describe('a credit is refused:', () => {
  const { sid, aid, ...others } = { ...FEE, aprice: 10 } as Fields
  it.each([
    [{}, 'Following field/s are missing: sid'],
    [{ sid }, 'Following field/s are missing: aid'],
    [{ sid, aid }, 'Following field/s are missing: rate'],
    [{ sid, aid, rate: 'FEE_A' }, 'Following field/s are missing: credit_time'],
    [
      { sid, aid, rate: 'FEE_A', credit_time: '2026-06-01' },
      'Following field/s are missing: usagev',
    ],
    [{ sid: 'x', aid, ...others }, 'Field sid should be of type Integer'],
    [{ sid, aid: 1.5, ...others }, 'Field aid should be of type Integer'],
    [{ ...FEE, credit_time: 'someday' }, 'Field credit_time should be of type Date'],
    [{ ...FEE, usagev: 'much' }, 'Field usagev should be of type Float'],
    [{ ...FEE, aprice: 'much' }, 'Field aprice should be of type Float'],
    [{ ...FEE, aprice: '' }, 'Field aprice should be of type Float'],
    [{ ...FEE, aprice: 1, installments: 'two' }, 'Field installments should be of type Integer'],
    [
      { ...FEE, aprice: 1, multiply_charge_by_volume: 'x' },
      'Field multiply_charge_by_volume should be of type Boolean',
    ],
    [{ ...FEE, installments: 3 }, 'Installments can only be applied on credit by price'],
    [{ ...FEE, aprice: 1, installments: 0 }, 'Number of installments must be a positive number'],
    [{ ...FEE, aprice: 1, installments: -1 }, 'Number of installments must be a positive number'],
    [{ ...FEE, aprice: 1, installments: 1201 }, 'Field installments must be at most 1200'],
    [{ ...FEE, rate: 'NO_RATE' }, `Rate doesn't exist`],
    [{ ...FEE, rate: 'EXPIRED' }, `Rate doesn't exist`],
    [{ ...FEE, aprice: 1, billrun_key: '202613' }, /^Field billrun_key must be a cycle key/],
    [{ ...FEE, aprice: '1000000000000' }, /^Field aprice must be below 10\^12/],
    [{ ...FEE, aprice: '0.0000000000001' }, /^Field aprice .* at most 12 decimals/],
    [{ ...FEE, aprice: 1, uf: 'x' }, /^uf is not JSON/],
  ])('%j', async (params, text) => {
    const answer = await refused(params)
    expect(answer['desc']).toEqual(typeof text === 'string' ? text : expect.stringMatching(text))
    expect(answer).toMatchObject({ code: 17577, display: { code: 999 } })
  })

  it.each([
    [{ sid: 77 }, 'sid: there is no subscriber 77'],
    [{ aid: 77 }, 'sid: subscriber 7 does not belong to account 77'],
    [{ sid: 0, aid: 77 }, 'aid: there is no account 77'],
    [{ usagev: '0.0000001', rate: 'CALL_A' }, /^usagev: has more than 6 decimals/],
  ])('by the processor: %j', async (params, details) => {
    const why = typeof details === 'string' ? details : expect.stringMatching(details)
    expect(await refused({ ...FEE, ...params })).toMatchObject({
      desc: 'Processor error',
      details: why,
    })
    const isByPrice = !('rate' in params)
    if (!isByPrice) return
    expect(await refused({ ...FEE, ...params, aprice: 3, installments: 3 })).toMatchObject({
      code: 17577,
      desc: 'Process error',
      details: why,
    })
  })
})

describe('configured fields', () => {
  const configure = (fields: object[]) => {
    const change = { nowMs: NOW_MS, by: 'test' }
    return writeStoredConfig(api.catalog(), 'lines', () => ({ credit: { fields } }), change)
  }

  it('are kept, others are dropped', async () => {
    await configure([{ field_name: 'ticket' }, { field_name: 'other' }])
    const uf = { ticket: { id: 4711 }, secret: 1 }
    expect(await credited({ aprice: 1, uf })).toMatchObject([{ uf: { ticket: { id: 4711 } } }])
  })

  it('may be mandatory', async () => {
    await configure([{ field_name: 'ticket', mandatory: true }])
    for (const uf of [undefined, {}, { other: 1 }]) {
      const params = { ...FEE, aprice: 1, ...(uf !== undefined && { uf }) }
      expect((await refused(params))['desc']).toBe('Following field is missing: uf.ticket')
    }
  })

  it('have keys that can be stored', async () => {
    await configure([{ field_name: 'ticket' }])
    const answer = await refused({ ...FEE, aprice: 1, uf: { ticket: { $set: 1 } } })
    expect(answer['desc']).toMatch(/^Field uf\.ticket has a key that/)
  })
})
