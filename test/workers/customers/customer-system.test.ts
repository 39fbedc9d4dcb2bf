import { afterEach, describe, expect, it } from 'vitest'
import type { ChargeRequest } from '../../../src/domain/charge-request.ts'
import { startCrm, usualAnswer } from '../../support/external/crm.ts'
import { emptyLedger } from '../../support/ledger.ts'
import { useOpened, useOpenedEach } from '../../support/opened.ts'
import { startTestRedis } from '../../support/redis.ts'
import {
  type CustomerScene,
  type CustomerSceneOptions,
  know,
  openCustomerScene,
} from '../../support/workers/customer-scene.ts'
import { aidOf, MONEY, NOW_MS, request, service } from '../../support/workers/processor-fixture.ts'

const scenes: CustomerScene[] = []

const redis = useOpened(() => startTestRedis({ appendfsync: 'everysec' }))
const crm = useOpenedEach(startCrm)
afterEach(async () => {
  for (const scene of scenes.splice(0)) {
    expect(scene.defects).toEqual([])
    await scene.close()
  }
})

/** The first one of a test empties the ledger. */
async function open(options: CustomerSceneOptions = {}): Promise<CustomerScene> {
  const scene = await openCustomerScene(redis().url, crm(), options)
  if (scenes.length === 0) await emptyLedger(scene.ledger)
  scenes.push(scene)
  return scene
}

const requested = [service(1_000_000)]
const start = (sid: number, more: Partial<ChargeRequest> = {}) =>
  request('start', sid, 0, requested, more)
const update = (sid: number, number: number, used = 0) =>
  request('update', sid, number, [service(1_000_000, used)])

/** Holds the answers of the customer system; returns the function that lets them go. */
function hold(): () => void {
  let letGo = () => undefined as unknown
  const gate = new Promise((resolve) => {
    letGo = () => resolve(undefined)
  })
  crm().respond = async (response, asked) => {
    await gate
    response.end(JSON.stringify(usualAnswer(crm(), asked)))
  }
  return letGo
}

const reasons = (outcomes: readonly ({ reason: string } | null)[]) =>
  outcomes.map((outcome) => outcome?.reason ?? null)

describe('a subscriber of the customer system', () => {
  it('is asked for once, by the identifier of the request, and then cached', async () => {
    const scene = await open()
    know(crm(), 1)
    await scene.credit(1, MONEY, 1_000_000)
    const byNumber = { subscriberKey: 'msisdn', subscriberValue: '49001' } as const
    const first = start(1, byNumber)
    expect(await scene.fast(first)).toEqual([null])
    expect(crm().requests).toEqual([])
    expect(reasons(await scene.send(first))).toEqual(['granted'])
    expect(reasons(await scene.fast(update(1, 1, 500_000)))).toEqual(['granted'])
    expect(reasons(await scene.fast(start(1, { ...byNumber, sessionId: 'another' })))).toEqual([
      'granted',
    ])
    expect(crm().asked()).toEqual(['msisdn:49001'])
  })

  it('that does not exist is denied, and not asked for again at once', async () => {
    const scene = await open()
    expect(reasons(await scene.send(start(7)))).toEqual(['unknownSubscriber'])
    expect(reasons(await scene.fast(start(7)))).toEqual(['unknownSubscriber'])
    expect(crm().asked()).toEqual(['sid:7'])
  })

  it('has an account there, with the limits and overrides of its revision', async () => {
    const scene = await open({ account: {} })
    know(crm(), 1)
    const period = { from: '2026-01-01 00:00:00', to: '2026-05-01T00:00:00', aid: aidOf(1) }
    crm().accounts.set(`aid:${aidOf(1)}`, [{ ...period, credit_limit: 12.5 }])
    await scene.send(start(1))
    const cached = scene.profiles.peekSid(1, NOW_MS, NOW_MS)
    expect(cached?.profile).toMatchObject({ accountCreditLimit: 12_500_000, aid: aidOf(1) })
    expect(cached?.validUntilMs).toBe(Date.UTC(2026, 4, 1))
    expect(crm().requests.map(({ path }) => path)).toEqual(['/subscribers', '/accounts'])
  })

  it('is asked for with its account if units are pooled', async () => {
    const scene = await open({ needsPool: true })
    know(crm(), 1)
    crm().subscribers.set(`aid:${aidOf(1)}`, [
      ...(crm().subscribers.get('sid:1') ?? []),
      { ...crm().subscribers.get('sid:1')?.[0], sid: 2, plan: 'OTHER' },
    ])
    await scene.send(start(1))
    const { profile } = scene.profiles.peekSid(1, NOW_MS, NOW_MS) ?? {}
    expect(profile?.pool?.map(({ plan }) => plan)).toEqual(['PLAN', 'OTHER'])
  })

  it('is asked for once if its request is repeated; both get the same answer', async () => {
    const scene = await open()
    know(crm(), 1)
    await scene.credit(1, MONEY, 1_000_000)
    const letGo = hold()
    const answers = [scene.send(start(1)), scene.send(start(1))]
    await expect.poll(() => crm().requests.length).toBe(1)
    letGo()
    const [[one], [two]] = (await Promise.all(answers)) as [never[], never[]]
    expect(one).toEqual(two)
    expect(crm().asked()).toEqual(['sid:1'])
    expect((await scene.owner(1)).state.buckets[0]?.reserved).toBe(10_000)
  })

  it('is rated by its own fields, also by those that the node does not know', async () => {
    const filter = { type: 'match', rate_key: 'key', line_key: 'subscriber.tariff' }
    const retail = { data: { priorities: [{ filters: [filter] }] } }
    const scene = await open({ rules: { rateCalculators: { retail } } })
    know(crm(), 1, { tariff: 'DATA_10' })
    know(crm(), 2, { tariff: 'DATA' })
    for (const sid of [1, 2]) await scene.credit(sid, MONEY, 1_000_000)
    expect(reasons(await scene.send(start(1), start(2)))).toEqual(['granted', 'granted'])
    const reserved = async (sid: number) => (await scene.owner(sid)).state.buckets[0]?.reserved
    expect([await reserved(1), await reserved(2)]).toEqual([2_000, 10_000])
  })

  it('1,000 of them at once take at most 50 calls', async () => {
    // A busy machine may take longer than a call may by default.
    const slow = { external_timeout_ms: 20_000 }
    const scene = await open({ subscriber: slow, account: slow })
    const sids = Array.from({ length: 1000 }, (_, index) => index + 1)
    for (const sid of sids) know(crm(), sid)
    const parts = Array.from({ length: 20 }, (_, part) => sids.slice(part * 50, part * 50 + 50))
    const outcomes = await Promise.all(
      parts.map((part) => scene.send(...part.map((n) => start(n)))),
    )
    expect(reasons(outcomes.flat())).toEqual(sids.map(() => 'noCredit'))
    expect(crm().asked().toSorted()).toEqual(sids.map((sid) => `sid:${sid}`).toSorted())
    expect(crm().requests.length).toBeLessThanOrEqual(50)
  })
})

describe('a change in the customer system', () => {
  const barred = { barred: true }

  it('counts in all workers and processes once it is announced', async () => {
    const [one, two] = [await open(), await open()]
    know(crm(), 1)
    await one.credit(1, MONEY, 1_000_000)
    await Promise.all([one.listening(), two.listening()])
    expect(reasons(await one.send(start(1)))).toEqual(['granted'])
    expect(reasons(await two.send(update(1, 1)))).toEqual(['granted'])
    know(crm(), 1, barred)
    await one.announce(aidOf(1), 1)
    expect(reasons(await one.send(update(1, 2)))).toEqual(['barred'])
    expect(reasons(await two.send(update(1, 3)))).toEqual(['barred'])
  })

  it('counts at once even in a process that the message has not reached', async () => {
    const [one, two] = [await open(), await open()]
    know(crm(), 1)
    await one.credit(1, MONEY, 1_000_000)
    expect(reasons(await two.send(start(1)))).toEqual(['granted'])
    expect(reasons(await two.fast(update(1, 1)))).toEqual(['granted'])
    know(crm(), 1, barred)
    await one.ledger.raiseFence(aidOf(1), 1, false, NOW_MS)
    expect(reasons(await two.fast(update(1, 2)))).toEqual([null])
    expect(reasons(await two.send(update(1, 2)))).toEqual(['barred'])
  })

  it.each([
    ['an account', aidOf(1), 0],
    ['everything', 0, 0],
    ['a subscriber alone', 0, 1],
  ])('of %s is announced', async (_, aid, sid) => {
    const scene = await open()
    know(crm(), 1)
    await scene.credit(1, MONEY, 1_000_000)
    await scene.listening()
    await scene.send(start(1))
    know(crm(), 1, { plan: 'PLAN', ...barred })
    await scene.announce(aid, sid)
    await expect
      .poll(() => scene.profiles.peekSid(1, NOW_MS, NOW_MS)?.profile?.barred)
      .toBeUndefined()
    expect(reasons(await scene.send(update(1, 1)))).toEqual(['barred'])
  })

  it('of the plan ends the old price: what was granted is settled by it', async () => {
    const scene = await open()
    know(crm(), 1)
    await scene.credit(1, MONEY, 1_000_000)
    await scene.listening()
    await scene.send(start(1))
    know(crm(), 1, { plan: 'GONE' })
    await scene.announce(aidOf(1), 1)
    const [outcome] = await scene.send(update(1, 1, 1_000_000))
    expect(outcome?.reason).not.toBe('granted')
    const { free, spent } = (await scene.owner(1)).state.buckets[0] as {
      free: number
      spent: number
    }
    expect([free, spent]).toEqual([990_000, 10_000])
  })
})

describe('while the customer system', () => {
  const down = () => {
    crm().respond = (response) => response.destroy()
  }

  it('is down, known subscribers are charged, and unknown ones get an outage', async () => {
    const scene = await open()
    know(crm(), 1)
    await scene.credit(1, MONEY, 100_000_000)
    await scene.send(start(1))
    down()
    expect(await scene.send(start(2))).toMatchObject([
      { reason: 'storeDown', detail: expect.stringContaining('cannot be reached') },
    ])
    for (let number = 1; number <= 200; number += 1) {
      expect(reasons(await scene.fast(update(1, number, 1000)))).toEqual(['granted'])
    }
    expect(crm().asked()).toEqual(['sid:1', 'sid:2'])
  })

  it('is down, usage of sessions is settled without their subscriber', async () => {
    const before = await open()
    know(crm(), 1)
    await before.credit(1, MONEY, 1_000_000)
    await before.send(start(1))
    const restarted = await open()
    down()
    const bucket = async () => (await restarted.owner(1)).state.buckets[0]
    // Nothing moves, so that its repetition is charged.
    expect(reasons(await restarted.send(update(1, 1, 600_000)))).toEqual(['storeDown'])
    expect(await bucket()).toMatchObject({ reserved: 10_000, spent: 0 })
    const report = request('update', 1, 1, [service(0, 600_000)])
    expect(reasons(await restarted.send(report))).toEqual(['granted'])
    expect(await bucket()).toMatchObject({ reserved: 0, spent: 10_000 })
    const release = request('release', 1, 2, [service(0, 0)])
    expect(reasons(await restarted.send(release))).toEqual(['granted'])
    expect(await bucket()).toMatchObject({ reserved: 0, spent: 10_000, free: 990_000 })
  })

  it('is slow, known subscribers do not wait', async () => {
    // However long the test takes, the call does not end by itself.
    const scene = await open({ subscriber: { external_timeout_ms: 60_000 }, waitMsMax: 60_000 })
    know(crm(), 1)
    know(crm(), 2)
    await scene.credit(1, MONEY, 100_000_000)
    await scene.send(start(1))
    const letGo = hold()
    let isAnswered = false
    const slow = scene.send(start(2)).then((outcomes) => {
      isAnswered = true
      return outcomes
    })
    await expect.poll(() => crm().requests.length).toBe(2)
    for (let number = 1; number <= 200; number += 1) {
      expect(reasons(await scene.fast(update(1, number, 1000)))).toEqual(['granted'])
    }
    expect(isAnswered).toBe(false)
    letGo()
    expect(reasons(await slow)).toEqual(['noCredit'])
  })

  it('is too slow, only requests that wait get an outage, and its answer counts', async () => {
    const scene = await open({ waitMsMax: 50 })
    know(crm(), 2)
    await scene.credit(2, MONEY, 1_000_000)
    const letGo = hold()
    expect(await scene.send(start(2))).toMatchObject([
      { reason: 'storeDown', detail: 'customer system: it has not answered within 50 ms' },
    ])
    letGo()
    await expect.poll(() => scene.profiles.peekSid(2, NOW_MS, NOW_MS)).toBeDefined()
    expect(reasons(await scene.fast(start(2)))).toEqual(['granted'])
    expect(crm().asked()).toEqual(['sid:2'])
  })

  it('fails again and again, it is not called, until a probe succeeds', async () => {
    const scene = await open()
    for (const sid of [1, 2]) know(crm(), sid)
    down()
    for (let time = 1; time <= 5; time += 1) {
      expect(reasons(await scene.send(start(time)))).toEqual(['storeDown'])
    }
    const state = () => scene.events.at(-1)?.calls[0]
    expect(state()).toMatchObject({ call: 'subscriber', circuit: 'open' })
    expect(await scene.send(start(6))).toMatchObject([
      { reason: 'storeDown', detail: expect.stringContaining('is not called') },
    ])
    expect(crm().requests).toHaveLength(5)
    crm().respond = null
    scene.pass(1000)
    expect(reasons(await scene.send(start(1)))).toEqual(['noCredit'])
    expect(scene.events.map(({ calls: [call] }) => call?.circuit)).toEqual(
      expect.arrayContaining(['open', 'half-open', 'closed']),
    )
    expect(state()?.circuit).toBe('closed')
    await expect.poll(() => state()?.outcomes).toEqual({ unreachable: 5, ok: 1 })
    expect(reasons(await scene.send(start(2)))).toEqual(['noCredit'])
  })

  it.each([
    ['a redirect', 302, '', 'redirect'],
    ['an error', 500, '', 'status'],
    ['something else than JSON', 200, '<html>', 'not JSON'],
    ['a revision of another query', 200, '[{"id":"x"}]', 'wrong query'],
    ['a huge text', 200, JSON.stringify('x'.repeat(3_000_000)), 'too large'],
  ])('answers with %s, charging of known subscribers goes on', async (_, status, body, kind) => {
    const scene = await open()
    know(crm(), 1)
    await scene.credit(1, MONEY, 100_000_000)
    await scene.send(start(1))
    crm().respond = (response) => response.writeHead(status, { location: '/x' }).end(body)
    expect(reasons(await scene.send(start(2)))).toEqual(['storeDown'])
    for (let number = 1; number <= 50; number += 1) {
      expect(reasons(await scene.fast(update(1, number, 1000)))).toEqual(['granted'])
    }
    await expect.poll(() => scene.events.at(-1)?.calls[0]?.outcomes).toEqual({ ok: 1, [kind]: 1 })
  })

  it('sends an invalid revision, only its subscriber is refused', async () => {
    const scene = await open()
    know(crm(), 1, { plan: 5 })
    know(crm(), 2)
    const [damaged, other] = await scene.send(start(1), start(2))
    expect([damaged?.reason, other?.reason]).toEqual(['storeDown', 'noCredit'])
    expect(scene.defects.splice(0)).toMatchObject([{ name: 'FieldError', path: 'revision 0.plan' }])
  })
})

describe('settings', () => {
  it('that change drop what was answered by the old ones', async () => {
    const scene = await open()
    know(crm(), 1)
    await scene.send(start(1))
    const settings = { type: 'external', external_url: `${crm().url}/others` }
    scene.customers.follow({ subscriber: settings })
    expect(scene.profiles.peekSid(1, NOW_MS, NOW_MS)).toBeUndefined()
    await scene.send(start(1))
    expect(crm().requests.map(({ path }) => path)).toEqual(['/subscribers', '/others'])
    scene.customers.follow({ subscriber: settings, account: { fields: [] } })
    expect(scene.profiles.peekSid(1, NOW_MS, NOW_MS)).toBeDefined()
    scene.customers.follow({})
    expect(scene.customers.isAsked).toBe(false)
    expect(scene.events.at(-1)?.calls).toEqual([])
  })

  it('that are invalid refuse requests instead of charging local entities', async () => {
    const scene = await open()
    scene.customers.follow({ subscriber: { type: 'external' } })
    expect(await scene.send(start(1))).toMatchObject([
      { reason: 'storeDown', detail: expect.stringContaining('external_url must be set') },
    ])
    expect(crm().requests).toEqual([])
  })
})
