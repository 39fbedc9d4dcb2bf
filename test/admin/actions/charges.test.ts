/** `POST /api/charges`: prices with taxes; nothing is written. */
import { beforeAll, describe, expect, it } from 'vitest'
import { charges } from '../../../src/admin/actions/charges.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { addTenant, TAXED } from '../../support/admin/actions/credit-tenant.ts'

const api = useActionServer([charges], TAXED)

const offer = (name: string, price: number | string, more: object = {}) => ({
  _id: new ObjectId(),
  rev: 1,
  from: new Date('2020-01-01'),
  to: new Date('2170-01-01'),
  name,
  description: name,
  price: [
    { from: 0, to: 2, price },
    { from: 2, to: 'UNLIMITED', price: 99 },
  ],
  ...more,
})
const NO_TAX = { tax: [{ type: 'vat', taxation: 'no' }] }
const REDUCED = [
  { type: 'vat', taxation: 'custom', custom_tax: 'REDUCED', custom_logic: 'override' },
]
const rounding = (stage: string, decimals: number) => ({
  rounding_rules: { rounding_type: 'up', rounding_decimals: decimals, rounding_stage: stage },
})

beforeAll(async () => {
  const catalog = api.catalog()
  await addTenant(catalog)
  const insert = async (name: 'plans' | 'services', documents: object[]) => {
    await catalog[name].insertMany(documents as never)
  }
  await insert('plans', [
    offer('MONTHLY', '12.345', { ...rounding('before_tax', 2) }),
    offer('PAST', 5, { to: new Date('2021-01-01') }),
  ])
  await insert('services', [
    offer('PLAIN', 20),
    offer('FREE_OF_TAX', 20, { vatable: false }),
    offer('UNTAXED', 20, NO_TAX),
    offer('REDUCED', 20, { tax: REDUCED }),
    offer('ROUNDED', 1.5, rounding('after_tax', 0)),
    offer('UNPRICED', 1, { price: [] }),
  ])
})

const calculate = (data: unknown, more: object = {}) =>
  api.ask('charges', { operation: 'calculate', data, ...more })

describe('charges', () => {
  it.each([
    [{ rate: 'FEE_A' }, [4, 0.17, 0.68, 4.68]],
    [{ rate: 'FEE_A', aprice: 10 }, [10, 0.17, 1.7, 11.7]],
    [{ rate: 'FEE_A', aprice: '-10' }, [-10, 0.17, -1.7, -11.7]],
    [{ rate: 'UNTAXED', aprice: 10 }, [10, 0, 0, 10]],
    [{ rate: 'REDUCED', aprice: 10 }, [10, 0.05, 0.5, 10.5]],
    [{ rate: 'ROUNDED', aprice: 1.5 }, [1.5042735043, 0.17, 0.2557264957, 1.76]],
    // The plan of the subscriber overrides the price of the rate.
    [{ rate: 'CALL_A' }, [0.1, 0.17, 0.017, 0.117]],
    [{ rate: 'CALL_A', subscriber: 7 }, [0.01, 0.17, 0.0017, 0.0117]],
    [{ rate: 'CALL_A', subscriber: { sid: 7, aid: 1001 } }, [0.01, 0.17, 0.0017, 0.0117]],
    [{ rate: 'CALL_A', subscriber: 7, account: 1001 }, [0.01, 0.17, 0.0017, 0.0117]],
    [{ rate: 'CALL_A', account: { aid: 1001 } }, [0.1, 0.17, 0.017, 0.117]],
    [{ plan: 'GOLD' }, [10, 0.17, 1.7, 11.7]],
    [{ plan: 'GOLD', aprice: 100 }, [100, 0.17, 17, 117]],
    [{ plan: 'MONTHLY' }, [12.35, 0.17, 2.0995, 14.4495]],
    [{ service: 'PLAIN' }, [20, 0.17, 3.4, 23.4]],
    [{ service: 'FREE_OF_TAX' }, [20, 0, 0, 20]],
    [{ service: 'UNTAXED' }, [20, 0, 0, 20]],
    [{ service: 'REDUCED' }, [20, 0.05, 1, 21]],
    [{ service: 'ROUNDED' }, [1.7094017094, 0.17, 0.2905982906, 2]],
  ])('%j', async (data, [price, tax, tax_amount, final_price]) => {
    const answer = await calculate(data)
    expect(answer).toMatchObject({ http: 200, status: 1, desc: 'success' })
    expect(answer['details']).toEqual({ price, tax, tax_amount, final_price })
  })

  it('has the taxes on request, by GET too, and writes nothing', async () => {
    const data = { rate: 'FEE_A', aprice: 10, include_tax_data: true }
    const { tax_data } = (await calculate(data))['details'] as { tax_data: object }
    expect(tax_data).toEqual({
      total_amount: 1.7,
      total_tax: 0.17,
      taxes: [
        {
          tax: 0.17,
          amount: 1.7,
          description: 'Vat',
          key: 'DEFAULT_VAT',
          type: 'vat',
          pass_to_customer: 1,
        },
      ],
    })
    const read = { method: 'GET', as: 'query' } as const
    const got = await api.ask('charges', { operation: 'calculate', data }, read)
    expect(got['details']).toMatchObject({ final_price: 11.7, tax_data })
    expect(await api.catalog().lines.countDocuments()).toBe(0)
    expect(await api.catalog().audit.countDocuments()).toBe(0)
  })

  it.each([
    [{}, 'Unrecognized operation'],
    [{ operation: 'write', data: { rate: 'FEE_A' } }, 'Unrecognized operation'],
    [{ operation: 'calculate' }, 'Following field/s are missing: data'],
    [{ operation: 'calculate', data: [1] }, 'Field data should be of type Object'],
    [{ operation: 'calculate', data: '{' }, /^data is not JSON/],
  ])('refuses %j', async (params, message) => {
    const text = typeof message === 'string' ? message : expect.stringMatching(message)
    const answer = await api.ask('charges', params)
    expect(answer).toMatchObject({ http: 200, status: 0, code: 17577, desc: text, message: text })
  })

  it.each([
    [{}, 'Following field/s are missing: one of: (rate, plan, service)'],
    [{ aprice: 3 }, 'Following field/s are missing: one of: (rate, plan, service)'],
    [{ rate: 'FEE_A', plan: 'GOLD' }, 'data has both rate and plan'],
    [{ rate: 'NO_RATE' }, `Rate doesn't exist`],
    [{ rate: 'EXPIRED' }, `Rate doesn't exist`],
    [{ plan: 'NONE' }, `Plan doesn't exist`],
    [{ plan: 'PAST' }, `Plan doesn't exist`],
    [{ service: 'NONE' }, `Service doesn't exist`],
    [{ service: 'UNPRICED' }, 'service price has no price of the first cycle'],
    [{ rate: {} }, 'Field rate should be of type String'],
    [{ rate: 'FEE_A', aprice: 'much' }, 'Field aprice should be of type Float'],
    [{ rate: 'FEE_A', aprice: '1000000000000' }, /^Field aprice must be below 10\^12/],
    [{ rate: 'FEE_A', subscriber: 'x' }, 'Field subscriber should be of type Integer'],
    [{ rate: 'FEE_A', subscriber: {} }, 'Field subscriber should be of type Integer'],
    [{ rate: 'FEE_A', account: [1] }, 'Field account should be of type Integer'],
    [{ rate: 'FEE_A', subscriber: 77 }, 'sid: there is no subscriber 77'],
    [
      { rate: 'FEE_A', subscriber: 7, account: 5 },
      'sid: subscriber 7 does not belong to account 5',
    ],
    [{ rate: 'FEE_A', account: 77 }, 'aid: there is no account 77'],
    [{ rate: 'FEE_A', include_tax_data: 'perhaps' }, /^Field include_tax_data should be of/],
  ])('refuses data %j', async (data, message) => {
    const text = typeof message === 'string' ? message : expect.stringMatching(message)
    const answer = await calculate(data)
    expect(answer).toMatchObject({ http: 200, status: 0, desc: text, message: text })
  })

  it('needs the role admin', async () => {
    const answer = await api.ask('charges', { operation: 'calculate' }, { role: 'read,write' })
    expect(answer).toMatchObject({ status: 0, code: 17575 })
  })
})
