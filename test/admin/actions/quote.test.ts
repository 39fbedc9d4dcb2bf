import { beforeAll, describe, expect, it } from 'vitest'
import { quote } from '../../../src/admin/actions/quote.ts'
import { useActionServer } from '../../support/admin/actions/action-server.ts'
import { call, type Json, prepaid, quoteCaseOf } from '../../support/billing/quote/case-builder.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { topUp } from '../../support/recorder/accounts.ts'

const api = useActionServer([quote], {}, { hasLedger: true })

const USAGE = { sid: 70, usaget: 'data', usagev: 2_048, rate: 'DATA' }
const PREPAID = { ...USAGE, sid: 71 }

beforeAll(async () => {
  await insertEntity(api.catalog(), 'rates')
  await insertEntity(api.catalog(), 'plans')
  await insertEntity(api.catalog(), 'plans', { name: 'POSTPAID', connection_type: 'postpaid' })
  await insertEntity(api.catalog(), 'subscribers', { aid: 7, sid: 70, plan: 'POSTPAID' })
  await insertEntity(api.catalog(), 'subscribers', { aid: 7, sid: 71 })
  await topUp(api.ledger(), 7, 71, 3_000, 'units')
})

describe('quote of a subscriber', () => {
  it.each(['GET', 'POST'])('prices usage by the live catalogue: %s', async (method) => {
    const as = method === 'GET' ? 'query' : 'form'
    const { details } = await api.ask('quote', USAGE, { method, as })
    expect(details).toMatchObject({
      aprice: 0.02,
      granted: 2_048,
      arate_key: 'DATA',
      returnCode: 1,
      rating: [{ step: 'price' }, { step: 'tier', amount: '0.02' }, { step: 'credit' }],
    })
  })

  it('uses live balances, and moves nothing', async () => {
    for (const _ of [1, 2]) {
      const { details } = await api.ask('quote', PREPAID)
      const bucket = { step: 'bucket', units: 2_048 }
      expect(details).toMatchObject({ granted: 2_048, rating: [{ step: 'price' }, bucket] })
    }
    expect(await api.ask('quote', { ...PREPAID, usagev: 9_000 })).toMatchObject({
      details: { granted: 3_000 },
    })
  })

  it('follows changes of the catalogue', async () => {
    const dear = { ...USAGE, rate: 'DEAR', usagev: 5 }
    expect(await api.ask('quote', dear)).toMatchObject({ details: { returnCode: -3 } })
    await insertEntity(api.catalog(), 'rates', {
      key: 'DEAR',
      rates: { data: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1, price: 1 }] } } },
    })
    expect(await api.ask('quote', dear)).toMatchObject({ details: { granted: 5, aprice: 5 } })
  })

  it('says why nothing is granted', async () => {
    const { details } = await api.ask('quote', { ...USAGE, rate: 'NONE' })
    expect(details).toMatchObject({ granted: 0, returnCode: -3, rating: [] })
  })

  it.each([
    [{}, 'Following field/s are missing: sid, usaget, usagev, or cases'],
    [{ sid: 70, usaget: 'data' }, 'Following field/s are missing: usagev'],
    [{ ...USAGE, usagev: 0 }, 'Field usagev must be at least 1'],
    [{ ...USAGE, usagev: 1.5 }, 'Field usagev should be of type Integer'],
    [{ ...USAGE, sid: 72 }, 'there is no subscriber 72 at 2026-06-15T12:00:00.000Z'],
    [{ ...USAGE, urt: 'once' }, 'Field urt should be of type Date'],
    [{ ...USAGE, rate: 'x'.repeat(300) }, 'Field rate has more than 256 characters'],
    [{ ...USAGE, cases: [{}] }, 'Field sid cannot be combined with cases'],
  ])('refuses %j', async (params, text) => {
    const message = expect.stringContaining(text)
    expect(await api.ask('quote', params)).toMatchObject({ status: 0, message })
  })
})

describe('quote of cases', () => {
  const quoted = async (...cases: unknown[]) => {
    const answer = await api.ask('quote', { cases }, { as: 'json' })
    expect(answer).toMatchObject({ status: 1, input: {} })
    return answer['details'] as Json[]
  }

  it('answers each case like the command, an invalid one by its field', async () => {
    const wrong = quoteCaseOf({ name: 'wrong', expect: [{ aprice: 0.6 }] })
    const broken = quoteCaseOf({ events: [call(1, { color: 'red' })] })
    expect(await quoted(prepaid(1, { name: 'silent' }), wrong, broken, 7)).toMatchObject([
      { name: 'silent', results: [{ aprice: 0.61, granted: 61 }] },
      { name: 'wrong', ok: false, mismatches: [{ field: 'aprice', expected: 0.6, actual: 0.61 }] },
      { ok: false, error: { field: 'events.0.color', why: 'is not known' } },
      { name: 'cases.3', ok: false, error: { field: '', why: 'must be an object' } },
    ])
  })

  it('refuses an event that lasts too long', async () => {
    const events = [call(1, { urt: '2026-01-01', eurt: '2026-02-02' })]
    const error = { field: 'events.0.eurt', why: 'must be at most 31 days after urt' }
    expect(await quoted(quoteCaseOf({ events }))).toMatchObject([{ ok: false, error }])
  })

  it('is sent as JSON text by GET', async () => {
    const params = { cases: [quoteCaseOf()] }
    const { details } = await api.ask('quote', params, { method: 'GET', as: 'query' })
    expect(details).toMatchObject([{ results: [{ aprice: 0.61 }] }])
  })

  it('accepts as many cases and events as documented', async () => {
    const events = Array.from({ length: 10 }, () => call(1))
    const details = await quoted(...Array.from({ length: 100 }, () => quoteCaseOf({ events })))
    expect(details).toHaveLength(100)
    expect(details.every(({ results }) => (results as Json[]).length === 10)).toBe(true)
  })

  it.each([
    ['cases', Array(101).fill({}), 'Field cases has more than 100 members'],
    [
      'events',
      Array(100).fill({ events: Array(11).fill(call(1)) }),
      'Field cases has more than 1000 events in total',
    ],
    [
      'members of a list',
      [{}, { catalogue: { rates: Array(1_001).fill(1) } }],
      'cases.1.catalogue.rates has more than 1000 members',
    ],
    [
      'time bands',
      [{ catalogue: { rates: [{ bands: Array(33).fill({}) }] } }],
      'cases.0.catalogue.rates.0.bands has more than 32 members',
    ],
  ])('refuses more %s', async (_what, cases, message) => {
    expect(await api.ask('quote', { cases }, { as: 'json' })).toMatchObject({ status: 0, message })
  })
})
