/** Set-ups of deprecated calls. */
import { expect } from 'vitest'
import { insertEntity } from '../../../catalog/store.ts'
import { emptyLedger } from '../../../ledger.ts'
import { type Fields, NOW_MS } from '../action-server.ts'
import { addDeprecatedTenant, addLines, megabytes, useDeprecated } from '../deprecated-tenant.ts'
import { emptied, type SetUp } from './set-up.ts'
import type { World } from './steps.ts'
import { requireMatch } from './tags.ts'

const HOUR_MS = 3_600_000
const LINES_AT_ONCE = 10_000

/** The tenant of deprecated calls, with a ledger. */
export function deprecated(env: Record<string, string> = {}): SetUp {
  const server = useDeprecated(env)
  return {
    server,
    prepare: () => addDeprecatedTenant(server.catalog()),
    verbs: {
      /** Lines of usage. */
      async lines(_world: World, count: number, fields: Fields) {
        for (let left = count; left > 0; left -= LINES_AT_ONCE) {
          const lines = Array.from({ length: Math.min(left, LINES_AT_ONCE) }, () => fields)
          await addLines(server.catalog(), ...lines)
        }
      },
      async operation(_world: World, aid: number, id: string, expected: Fields) {
        requireMatch(await server.ledger().findOperation(aid, id), expected, `operation ${id}`)
      },
    },
  }
}

/** Credits of 10 for subscriber 7 and of 5 for subscriber 8. */
export function deprecatedBalance(): SetUp {
  const setUp = deprecated({ TOLLGATE_ACTIONS_BALANCE_CACHE_HOURS: '2' })
  const fee = { aid: 1001, rate: 'FEE_A', usagev: 1, label: 'a < b & c' }
  const credit = async (sid: number, aprice: number) => {
    const more = { sid, aprice, credit_time: '2026-06-14 10:00:00' }
    expect(await setUp.server.ask('credit', { ...fee, ...more })).toMatchObject({ status: 1 })
  }
  return {
    ...setUp,
    async prepare() {
      await setUp.prepare?.()
      await credit(7, 10)
      await credit(8, 5)
    },
  }
}

export function deprecatedBalances(): SetUp {
  const setUp = deprecated()
  return { ...setUp, reset: () => emptyLedger(setUp.server.ledger()) }
}

export function deprecatedReads(): SetUp {
  const setUp = deprecated()
  const catalog = () => setUp.server.catalog()
  const at = (day: number, hour = 10) => ({ urt: new Date(Date.UTC(2026, 5, day, hour)) })
  const data = (count: number, more: Fields) => ({
    ...{ usaget: 'data', usagev: megabytes(count) },
    ...more,
  })
  const invoice = { aid: 1001, subs: [{ sid: 7 }], totals: {} }
  return {
    ...setUp,
    async prepare() {
      await setUp.prepare?.()
      await addLines(
        catalog(),
        { usaget: 'call', called_number: '972501', ...at(10) },
        { usaget: 'incoming_call', calling_number: '972502', ...at(11) },
        { usaget: 'sms', usagev: 1, called_number: '972503', ...at(12) },
        { usaget: 'call', urt: new Date('2026-05-01T10:00:00Z'), billrun: '202606' },
        data(400, at(13)),
        data(212.5, at(13, 11)),
        data(100, { sid: 8 }),
        data(900, { sid: 8, plan: 'OTHER' }),
        data(900, { sid: 8, billrun: '202606' }),
      )
      await catalog().billrun.insertMany([
        { ...invoice, billrun_key: '202605', invoice_id: 1 },
        { ...invoice, billrun_key: '202606', invoice_id: 2 },
        { ...invoice, aid: 1002, subs: [{ sid: 70 }], billrun_key: '202606', invoice_id: 3 },
      ] as never)
    },
  }
}

/** Subscriber 12, whose number changes on 11 June, with calls and messages around it. */
export function deprecatedActivity(): SetUp {
  const setUp = deprecated()
  const at = (day: number) => ({ sid: 12, urt: new Date(Date.UTC(2026, 5, day, 10)) })
  const other = (usaget: string) =>
    usaget === 'incoming_call' ? { calling_number: '2' } : { called_number: '1' }
  return {
    ...setUp,
    async prepare() {
      await setUp.prepare?.()
      const catalog = setUp.server.catalog()
      const fields = { aid: 1001, sid: 12, plan: 'GOLD' }
      const first = { msisdn: '447700900001', from: '2026-01-01', to: '2026-06-11' }
      const second = { msisdn: '447700900002', from: '2026-06-11' }
      await insertEntity(catalog, 'subscribers', { ...fields, ...first })
      await insertEntity(catalog, 'subscribers', { ...fields, ...second })
      const lines = ['call', 'incoming_call', 'sms'].flatMap((usaget) => [
        { usaget, ...other(usaget), ...at(10) },
        { usaget, called_number: '', calling_number: '', ...at(11) },
        { usaget, called_number: '1', calling_number: '2', ...at(12) },
      ])
      await addLines(catalog, ...lines)
    },
  }
}

/** Each case an hour after the one before, with a new tenant. */
export function deprecatedSubscribers(): SetUp {
  const setUp = deprecated()
  const { server } = setUp
  let nowMs = NOW_MS
  return {
    ...setUp,
    prepare: async () => undefined,
    async reset() {
      await emptied(server, 'subscribers', 'plans', 'rates', 'taxes', 'prepaidincludes')()
      await emptied(server, 'prepaidgroups')()
      await addDeprecatedTenant(server.catalog())
      const numbers = { $set: { imsi: ['4250100'], msisdn: '97250' } }
      await server.catalog().subscribers.updateOne({ sid: 7 }, numbers as never)
      // Operations of the ledger, and revisions, are later than those of the case before.
      nowMs += HOUR_MS
      server.at(nowMs)
    },
    variablesOf: () => ({ now: new Date(nowMs).toISOString() }),
  }
}
