/** Actions of event rules: decided from the committed balances, at any node. */
import { beforeEach, describe, expect, it } from 'vitest'
import type { PlanRevision } from '../../src/domain/catalogue.ts'
import type { ChargeOutcome } from '../../src/domain/charge-outcome.ts'
import type { RuleActionDocument } from '../../src/domain/events/rule-documents.ts'
import type { BalanceRuleSet } from '../../src/domain/events/rule-set.ts'
import type { CreditEvent } from '../../src/store/session-events.ts'
import { groupOf } from '../support/rating/offers.ts'
import { newEvents, reaching, ruleSetOf } from '../support/workers/event-scene.ts'
import { useTwoNodes } from '../support/workers/nodes.ts'
import {
  aidOf,
  catalogueOf,
  DATA_UNITS,
  flat,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  plan,
  profileOf,
  request,
  SHARED_DATA,
  service,
} from '../support/workers/processor-fixture.ts'

let rules: BalanceRuleSet | null = null
let asked: CreditEvent[] = []
let isMongoUp = true

/** Postpaid, with a group of 100 units of data. */
const POSTPAID: PlanRevision = {
  ...plan,
  id: 'POST',
  name: 'POST',
  connectionType: 'postpaid',
  groups: [groupOf('G', 100, { usagets: new Set(['data']) })],
}
const POSTPAID_SID = 5_000

const usual = catalogueOf({ DATA: { data: flat(1, 1_000) }, CALL: { call: flat(1, 500_000) } })
const options = {
  catalogue: { ...usual, plans: new Map([...usual.plans, ['POST', [POSTPAID]]]) },
  eventRules: () => rules,
  reauthorize: (event: CreditEvent) => void asked.push(event),
  async read({ value }: { value: string }) {
    if (!isMongoUp) throw Object.assign(new Error('down'), { name: 'CatalogUnavailableError' })
    const found = profileOf(Number(value))
    if (found === null) return null
    const changed = { ...found, plan: found.sid >= POSTPAID_SID ? 'POST' : 'PLAN' }
    return { profile: changed, validUntilMs: found.toMs }
  },
}

const { redis, scene, other } = useTwoNodes(options)
beforeEach(() => {
  rules = null
  asked = []
  isMongoUp = true
})

const DATA = 'balance.totals.data.usagev'
const BAR: RuleActionDocument = { type: 'bar' }
const SLOW: RuleActionDocument = { type: 'throttle', policy: 'SLOW' }

function acting(action: RuleActionDocument, path: string, value: string | number, code = 'CAP') {
  return { ...reaching(path, value, code), action }
}

/** Reason, grant and action of the only service. */
function told(outcomes: readonly ChargeOutcome[]) {
  const [service] = outcomes[0]?.services ?? []
  return [service?.reason ?? outcomes[0]?.reason, service?.granted ?? 0, service?.action ?? null]
}

const start = (sid: number, sessionId: string, units = 10) =>
  request('start', sid, 0, [service(units)], { sessionId })
const update = (sid: number, sessionId: string, number: number, used: number, units = 10) =>
  request('update', sid, number, [service(units, used)], { sessionId })
const release = (sid: number, sessionId: string, number: number, used: number) =>
  request('release', sid, number, [service(-1, used)], { sessionId })

describe('a bar of prepaid credit', () => {
  beforeEach(async () => {
    rules = ruleSetOf(acting(BAR, DATA, -50))
    await scene().credit(1, DATA_UNITS, 100)
  })

  it('denies grants at every node once it is reached, and settles what was used', async () => {
    await scene().charge(start(1, 'a', 30))
    await other().charge(start(1, 'b', 30))
    expect(told(await scene().charge(update(1, 'a', 1, 25)))).toEqual(['granted', 10, null])
    expect(told(await other().charge(update(1, 'b', 1, 25)))).toEqual(['capReached', 0, null])
    expect(told(await scene().charge(update(1, 'a', 2, 10)))).toEqual(['capReached', 0, null])
    expect(told(await scene().charge(start(1, 'c')))).toEqual(['capReached', 0, null])
    expect(told(await scene().charge(release(1, 'a', 3, 5)))).toEqual(['granted', 0, null])
    expect(told(await other().charge(release(1, 'b', 2, 0)))).toEqual(['granted', 0, null])
    const { state } = await scene().owner(1)
    expect(state.buckets).toMatchObject([{ spent: 65, reserved: 0, free: 35 }])
    const [event] = await newEvents(scene())
    expect(event).toMatchObject({ event_code: 'CAP', action: BAR, reached_constant: -50 })
  })

  it('is stored with the answer: a repetition gets the same one after it is lifted', async () => {
    await scene().charge(request('event', 1, 0, [service(50)], { sessionId: 'e' }))
    const denied = await scene().charge(start(1, 'a'))
    expect(denied).toMatchObject([{ reason: 'capReached', detail: 'CAP' }])
    await scene().credit(1, DATA_UNITS, 1)
    expect(await scene().charge(start(1, 'a'))).toEqual(denied)
    expect(await other().charge(start(1, 'a'))).toEqual(denied)
    expect(told(await other().charge(start(1, 'b')))).toEqual(['granted', 10, null])
  })

  it('denies a check of credit, which asks whether units could be granted', async () => {
    await scene().charge(start(1, 'a'))
    const check = service(0, 0, { checksCredit: true })
    const ask = (number: number, used: number) =>
      scene().charge(request('update', 1, number, [{ ...check, used }], { sessionId: 'a' }))
    expect(told(await ask(1, 49))).toEqual(['granted', 0, null])
    expect(told(await ask(2, 1))).toEqual(['capReached', 0, null])
  })

  it('is lifted by a refund', async () => {
    const event = request('event', 1, 0, [service(50)], { sessionId: 'e' })
    await scene().charge(event)
    expect(told(await scene().charge(start(1, 'a')))).toEqual(['capReached', 0, null])
    const back = request('event', 1, 1, [service(-1)], { sessionId: 'e', refund: true })
    await scene().charge(back)
    expect(told(await scene().charge(start(1, 'b')))).toEqual(['granted', 10, null])
    expect(asked.map(({ sid }) => sid)).toEqual([1, 1])
  })

  it('is decided on the balance that is committed, although nodes meet conflicts', async () => {
    const nodes = [scene(), other()]
    const events = Array.from({ length: 40 }, (_, index) =>
      nodes[index % 2]!.charge(
        request('event', 1, 0, [service(2)], { sessionId: `conflict-${index}` }),
      ),
    )
    const outcomes = (await Promise.all(events)).flat()
    const reasons = outcomes.map(({ reason }) => reason)
    expect(reasons.filter((reason) => reason === 'granted')).toHaveLength(25)
    expect(reasons.filter((reason) => reason === 'capReached')).toHaveLength(15)
  })

  it('does not keep a release from being settled while MongoDB is down', async () => {
    await scene().charge(start(1, 'a', 80))
    isMongoUp = false
    const cold = await openProcessorFixture(redis().url, options)
    expect(told(await cold.charge(release(1, 'a', 1, 60)))).toEqual(['granted', 0, null])
    expect((await scene().owner(1)).state.buckets).toMatchObject([{ spent: 60, reserved: 0 }])
    await cold.close()
  })
})

describe('an action of postpaid usage', () => {
  const SID = POSTPAID_SID

  it('is in force from the report that reaches the total, until the next cycle', async () => {
    rules = ruleSetOf(acting(SLOW, DATA, 50), acting(BAR, 'balance.groups.G.usagev', 100))
    await scene().charge(start(SID, 'a'))
    expect(told(await scene().charge(update(SID, 'a', 1, 49)))).toEqual(['granted', 10, null])
    expect(told(await other().charge(update(SID, 'a', 2, 1)))).toEqual(['granted', 10, SLOW])
    expect(told(await other().charge(update(SID, 'a', 3, 50)))).toEqual(['capReached', 0, null])
    const nextMs = Date.UTC(2026, 3, 1)
    scene().clock.set(nextMs)
    const next = { ...start(SID, 'b'), eventTimeMs: nextMs }
    expect(told(await scene().charge(next))).toEqual(['granted', 10, null])
    const late = { ...start(SID, 'c'), eventTimeMs: NOW_MS }
    expect(told(await scene().charge(late))).toEqual(['capReached', 0, null])
  })
})

describe('an action of a balance of the account', () => {
  it('acts on its other subscribers, and only there', async () => {
    rules = ruleSetOf(acting(SLOW, DATA, -50))
    await scene().credit(1, SHARED_DATA, 100)
    await scene().credit(101, SHARED_DATA, 100)
    expect(told(await scene().charge(start(2, 'b')))).toEqual(['granted', 10, null])
    await other().charge(request('event', 1, 0, [service(50)], { sessionId: 'e' }))
    expect(told(await scene().charge(update(2, 'b', 1, 5)))).toEqual(['granted', 10, SLOW])
    expect(told(await scene().charge(start(101, 'c')))).toEqual(['granted', 10, null])
    expect(asked).toEqual([
      { cause: 'credit', aid: aidOf(1), sid: 0, origin: 'test', sessionId: 'e' },
    ])
  })
})

describe('open sessions are to be re-authorized', () => {
  it('once, when a commit brings the action into force, and not while it lasts', async () => {
    rules = ruleSetOf({
      event_code: 'LOW',
      conditions: [{ type: 'is_greater_than', value: -50, paths: [{ path: DATA }] }],
      action: SLOW,
    })
    await scene().credit(1, DATA_UNITS, 100)
    await scene().charge(start(1, 'a', 90))
    await scene().charge(update(1, 'a', 1, 50))
    expect(asked).toEqual([])
    await scene().charge(update(1, 'a', 2, 1))
    const change = { cause: 'credit', aid: aidOf(1), sid: 1, origin: 'test', sessionId: 'a' }
    expect(asked).toEqual([change])
    await scene().charge(update(1, 'a', 3, 1), update(1, 'a', 4, 1))
    await scene().charge(update(1, 'a', 2, 1))
    expect(asked).toEqual([change])
    expect(await newEvents(scene())).toHaveLength(3)
  })

  it('with the session itself, if two of them have changed it in one commit', async () => {
    rules = ruleSetOf(acting(BAR, DATA, -50))
    await scene().credit(1, DATA_UNITS, 100)
    const event = request('event', 1, 0, [service(50)], { sessionId: 'e' })
    const back = request('event', 1, 1, [service(-1)], { sessionId: 'e', refund: true })
    await scene().charge(event, back)
    expect(asked).toEqual([{ cause: 'credit', aid: aidOf(1), sid: 1 }])
  })

  it('not for rules without actions, nor for a request that is denied', async () => {
    rules = ruleSetOf(reaching(DATA, -50), acting(BAR, 'balance.cost', 5))
    await scene().credit(1, DATA_UNITS, 100)
    await scene().charge(request('event', 1, 0, [service(60)], { sessionId: 'e' }))
    await scene().charge(request('event', 1, 0, [service(60)], { sessionId: 'f' }))
    expect(asked).toEqual([])
  })
})

describe('answers without an action', () => {
  it('are the same whether or not there are rules', async () => {
    const play = async (node: ProcessorFixture, sid: number) => {
      await node.credit(sid, DATA_UNITS, 100)
      const outcomes: ChargeOutcome[] = []
      for (const one of [
        start(sid, `s${sid}`, 50),
        update(sid, `s${sid}`, 1, 20),
        update(sid, `s${sid}`, 2, 40, 200),
        release(sid, `s${sid}`, 3, 60),
      ]) {
        outcomes.push(...(await node.charge(one)))
      }
      return outcomes.map(({ services, reason, detail }) => ({ services, reason, detail }))
    }
    const without = await play(scene(), 1)
    rules = ruleSetOf(
      acting(BAR, DATA, 5),
      { ...acting(BAR, DATA, -100), filter: { plan: ['OTHER'] } },
      { ...acting(BAR, DATA, -100), filter: { aid: [77] } },
      reaching(DATA, '-90,-50'),
    )
    expect(await play(scene(), 2)).toEqual(without)
  })
})
