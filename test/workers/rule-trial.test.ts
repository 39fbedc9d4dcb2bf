/** The result of `tollgate event test` is that of the next request. */
import fc from 'fast-check'
import { beforeEach, describe, expect, it } from 'vitest'
import type { BalanceEvent } from '../../src/domain/events/event.ts'
import type { RuleTrial } from '../../src/domain/events/explain.ts'
import type { BalanceRuleDocument } from '../../src/domain/events/rule-documents.ts'
import type { BalanceRuleSet } from '../../src/domain/events/rule-set.ts'
import { compileBalanceRule } from '../../src/domain/events/rules.ts'
import { tryRule } from '../../src/workers/rule-trial.ts'
import { emptyLedger } from '../support/ledger.ts'
import { subscribedTo } from '../support/rating/offers.ts'
import {
  changesOf,
  eventCatalogue,
  FIRST_POSTPAID,
  newEvents,
  reaching,
  ruleSetOf,
  told,
} from '../support/workers/event-scene.ts'
import { useNode } from '../support/workers/nodes.ts'
import {
  aidOf,
  DATA_UNITS,
  MONEY,
  NOW_MS,
  profileOf,
  request,
  SHARED_DATA,
  service,
} from '../support/workers/processor-fixture.ts'

let rules: BalanceRuleSet | null = null

function subscriberOf(sid: number) {
  const found = profileOf(sid)
  if (found === null) return null
  const isPostpaid = sid >= FIRST_POSTPAID
  return {
    ...found,
    plan: isPostpaid ? 'POST' : 'PLAN',
    services: isPostpaid ? [subscribedTo('EXTRA')] : [],
  }
}

const { scene } = useNode({
  catalogue: eventCatalogue,
  eventRules: () => rules,
  async read({ value }) {
    const profile = subscriberOf(Number(value))
    return profile === null ? null : { profile, validUntilMs: profile.toMs }
  },
})
beforeEach(() => {
  rules = null
})

let requests = 0

function eventOf(sid: number, usaget: string, units: number) {
  requests += 1
  return request('event', sid, 0, [service(units, 0, { usaget })], {
    sessionId: `event-${requests}`,
  })
}

async function tried(
  document: BalanceRuleDocument,
  sid: number,
  usaget: string,
  units: number,
): Promise<RuleTrial> {
  const aid = aidOf(sid)
  const loaded = await scene().ledger.load(
    [sid, 0].map((owner) => ({ aid, sid: owner, sessionKeys: [] })),
  )
  const [subscriber, account] = loaded.map((one) => {
    if (one instanceof Error) throw one
    return one.state
  })
  if (subscriber === undefined || account === undefined) throw new Error('nothing loaded')
  const context = { ...scene().context(NOW_MS), profile: subscriberOf(sid) }
  const view = { subscriber, account, session: null }
  const rule = compileBalanceRule(document, 'events.balance.0')
  return tryRule(rule, eventOf(sid, usaget, units), view, context)
}

/** Without what depends on the session of the usage. */
const comparable = ({ row: { stamp: _, ...row }, ...event }: BalanceEvent) => ({ ...event, row })

/** Tries usage by a rule, then charges it: the events have to be the same. */
async function triedAndCharged(
  document: BalanceRuleDocument,
  sid: number,
  usaget: string,
  units: number,
): Promise<RuleTrial> {
  rules = ruleSetOf(document)
  const trial = await tried(document, sid, usaget, units)
  await newEvents(scene())
  const [outcome] = await scene().charge(eventOf(sid, usaget, units))
  const events = await newEvents(scene())
  expect(outcome?.reason).toBe(trial.reason)
  expect(trial.events.map(comparable)).toEqual(events.map(comparable))
  expect(trial.balances.some(({ isMet }) => isMet)).toBe(events.length > 0)
  return trial
}

const DATA = 'balance.totals.data.usagev'
const GROUP = 'balance.groups.G.usagev'

const document = fc.constantFrom<BalanceRuleDocument>(
  reaching(DATA, '-90,-60,-30,0'),
  reaching(DATA, '50,75'),
  { ...reaching('spent', 20), prepaid: true },
  { ...changesOf('balance.cost'), filter: { plan: ['POST'] } },
  changesOf(GROUP),
  reaching('balance.cost', '0.05'),
  {
    event_code: 'RECURRING',
    conditions: [{ type: 'reached_constant_recurring', value: 10, path: DATA }],
  },
  {
    event_code: 'SHARE',
    filter: { service: ['EXTRA'] },
    conditions: [
      { type: 'reached_percentage', value: '10,50,80', paths: [{ path: GROUP }] },
      { type: 'is', value: 'postpaid', path: 'connection_type' },
    ],
  },
  {
    event_code: 'ALL',
    conditions: [{ type: 'is_greater_than', value: 30, all_groups: true, usaget: 'data' }],
  },
)
const usage = fc.tuple(
  document,
  fc.constantFrom(1, FIRST_POSTPAID),
  fc.constantFrom('data', 'call'),
  fc.integer({ min: 1, max: 40 }),
)

describe('a rule that is tried', () => {
  it('finds the same as the next request, whatever was used before', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(usage, { minLength: 1, maxLength: 12 }), async (used) => {
        await emptyLedger(scene().ledger)
        await scene().credit(1, DATA_UNITS, 100)
        await scene().credit(1, MONEY, 2_000_000)
        await scene().credit(FIRST_POSTPAID, SHARED_DATA, 30)
        for (const [rule, sid, usaget, units] of used) {
          await triedAndCharged(rule, sid, usaget, units)
        }
      }),
      { numRuns: 25 },
    )
  })

  it('shows the values and constants of each path', async () => {
    await scene().credit(1, DATA_UNITS, 100)
    const rule: BalanceRuleDocument = {
      event_code: 'LOW',
      conditions: [
        { type: 'reached_constant', value: '-50,-20', paths: [{ path: DATA }, { path: GROUP }] },
        { type: 'is', value: DATA_UNITS, path: 'pp_includes_external_id' },
      ],
    }
    const trial = await triedAndCharged(rule, 1, 'data', 60)
    expect(trial.events.map(told)).toEqual(['LOW -100 -40 reached -50'])
    expect(trial).toMatchObject({ plan: 'PLAN', excludedBy: null })
    const [{ conditions = [] } = {}] = trial.balances
    expect(conditions).toMatchObject([
      {
        type: 'is',
        isMet: true,
        decides: false,
        paths: [{ before: DATA_UNITS, after: DATA_UNITS, constants: [DATA_UNITS] }],
      },
      {
        type: 'reached_constant',
        isMet: true,
        decides: true,
        paths: [
          { path: DATA, before: -100, after: -40, constants: [-50, -20], match: { reached: -50 } },
          { path: GROUP, constants: [-50, -20], match: null },
        ],
      },
    ])
    expect(conditions[1]?.paths[1]).not.toHaveProperty('before')
  })

  it('shows percentages as amounts', async () => {
    const rule: BalanceRuleDocument = {
      event_code: 'SHARE',
      conditions: [{ type: 'reached_percentage', value: '12.5,80', path: GROUP }],
    }
    const { balances, events } = await triedAndCharged(rule, FIRST_POSTPAID, 'data', 70)
    expect(events).toMatchObject([{ reached_constant: 12.5, reached_constant_percentage: 12.5 }])
    const paths = balances.flatMap(({ conditions }) => conditions.flatMap((one) => one.paths))
    expect(paths).toMatchObject([{ before: 0, after: 70, constants: [12.5, 80] }])
  })

  it.each<[RuleTrial['excludedBy'], Partial<BalanceRuleDocument>]>([
    ['active', { active: false }],
    ['plan', { filter: { plan: ['POST'] } }],
    ['service', { filter: { plan: ['PLAN'], service: ['EXTRA'] } }],
    ['aid', { filter: { aid: [99] } }],
    [null, { filter: { plan: ['PLAN'], aid: [1] } }],
  ])('says that it is not for the subscriber: %s', async (excludedBy, more) => {
    await scene().credit(1, DATA_UNITS, 100)
    const trial = await triedAndCharged({ ...changesOf(DATA), ...more }, 1, 'data', 1)
    expect([trial.excludedBy, trial.events.length]).toEqual([excludedBy, excludedBy ? 0 : 1])
  })

  it('says that it does not test a balance', async () => {
    const rule = { ...changesOf(GROUP), prepaid: true }
    const { balances } = await triedAndCharged(rule, FIRST_POSTPAID, 'data', 1)
    expect(balances).toMatchObject([{ isTested: false, balance: { isPrepaid: false } }])
  })

  it('of a request that is denied finds nothing', async () => {
    const trial = await triedAndCharged(changesOf(DATA), 1, 'data', 1)
    expect(trial).toMatchObject({ reason: 'noCredit', balances: [], events: [] })
  })
})
