import { beforeEach, describe, expect, it } from 'vitest'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import type { SubscriberProfile } from '../../src/domain/catalogue.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import { FieldError } from '../../src/domain/fields.ts'
import { FOREVER_MS } from '../../src/domain/time.ts'
import { TEST_EPOCH } from '../support/ledger.ts'
import { useMadeEach } from '../support/opened.ts'
import { useNode } from '../support/workers/nodes.ts'
import {
  aidOf,
  MONEY,
  NOW_MS,
  profileOf,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

let waiting: Promise<void> | null
let failure: Error | null

/** The stored profiles by identifier value. */
const stored = useMadeEach(() => new Map<string, SubscriberProfile>())
const reads = useMadeEach<string[]>(() => [])
const { scene } = useNode({
  async read({ key, value }) {
    reads().push(`${key}:${value}`)
    const found = stored().get(value)
    await waiting
    if (failure !== null) throw failure
    return found === undefined ? null : { profile: found, validUntilMs: found.toMs }
  },
})
beforeEach(() => {
  waiting = null
  failure = null
})

function write(identifier: string, sid: number, more: Partial<SubscriberProfile> = {}): void {
  const profile = profileOf(sid)
  if (profile !== null) stored().set(identifier, { ...profile, ...more })
}

const raise = (dirty: boolean, nowMs = NOW_MS) =>
  scene().ledger.raiseFence(aidOf(1), 1, dirty, nowMs)

async function fast(...requests: ChargeRequest[]) {
  const { outcomes } = await scene().processor.process({
    requests,
    mayLookUp: false,
    deadlineMs: Number.POSITIVE_INFINITY,
  })
  return outcomes
}

const requested = [service(1_000_000)]

describe('a change of a profile', () => {
  it('refuses what was rated with the old one, and rates it again', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    expect((await fast(request('update', 1, 1, requested)))[0]?.reason).toBe('granted')
    await raise(true)
    write('1', 1, { barred: true, id: 's1-barred' })
    await raise(false)
    const update = request('update', 1, 2, requested)
    expect(await fast(update)).toEqual([null])
    expect((await scene().charge(update))[0]?.reason).toBe('barred')
    expect((await scene().owner(1)).state.buckets[0]).toMatchObject({
      reserved: 0,
      free: 1_000_000,
    })
    // From now on it is cached.
    const before = reads().length
    expect((await fast(request('update', 1, 3, requested)))[0]?.reason).toBe('barred')
    expect(reads()).toHaveLength(before)
  })

  it('is not compared with fences from before a rebuild of the ledger', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    const { keys, redis } = scene().ledger
    await redis.client.set(keys.epoch(0), '2-rebuilt')
    const update = request('update', 1, 1, requested)
    expect((await fast(update))[0]?.reason).toBe('storeDown')
    expect(await fast(update)).toEqual([null])
    await redis.client.set(keys.epoch(0), TEST_EPOCH)
  })

  it('in progress is answered from a reading that is not cached', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await raise(true)
    await scene().charge(request('start', 1, 0, requested))
    write('1', 1, { barred: true, id: 's1-barred' })
    await raise(false)
    const [outcome] = await scene().charge(request('update', 1, 1, requested))
    expect(outcome?.reason).toBe('barred')
  })

  it('that was interrupted is repaired after five seconds, by one request and once', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    const begun = await raise(true)
    write('1', 1, { barred: true, id: 's1-barred' })
    scene().clock.set(NOW_MS + 5000)
    await scene().charge(request('update', 1, 1, requested))
    expect((await scene().owner(1)).fence).toEqual(begun)
    scene().clock.set(NOW_MS + 5001)
    const late = request('update', 1, 2, requested)
    expect(await fast(late)).toEqual([null])
    expect((await scene().charge(late))[0]?.reason).toBe('barred')
    const repaired = { number: begun.number + 1, dirty: false, changedMs: NOW_MS + 5001 }
    expect((await scene().owner(1)).fence).toEqual(repaired)
    expect((await fast(request('update', 1, 3, requested)))[0]?.reason).toBe('barred')
    expect((await scene().owner(1)).fence).toEqual(repaired)
  })

  it('of the account refuses what was rated before it', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    await scene().ledger.raiseFence(aidOf(1), 0, true, NOW_MS)
    write('1', 1, { accountCreditLimit: 5, barred: true })
    await scene().ledger.raiseFence(aidOf(1), 0, false, NOW_MS)
    const update = request('update', 1, 1, requested)
    expect(await fast(update)).toEqual([null])
    expect((await scene().charge(update))[0]?.reason).toBe('barred')
    const before = reads().length
    expect((await fast(request('update', 1, 2, requested)))[0]?.reason).toBe('barred')
    expect(reads()).toHaveLength(before)
  })

  it('of the account that was interrupted is repaired too', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().ledger.raiseFence(aidOf(1), 0, true, NOW_MS)
    scene().clock.set(NOW_MS + 5001)
    const start = request('start', 1, 0, requested)
    expect((await scene().charge(start))[0]?.reason).toBe('granted')
    expect((await scene().owner(0)).fence).toMatchObject({ number: 2, dirty: false })
  })

  it('does not block a release', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    await raise(true)
    expect((await fast(request('release', 1, 1, [service(-1, 5)])))[0]?.reason).toBe('granted')
  })

  it('of an identifier sends the next session to its new subscriber', async () => {
    write('49', 1)
    for (const sid of [1, 250]) await scene().credit(sid, MONEY, 1_000_000)
    const by49 = { subscriberKey: 'msisdn' as const, subscriberValue: '49' }
    const [first] = await scene().charge(request('start', 1, 0, requested, by49))
    expect(first?.sid).toBe(1)
    await raise(true)
    write('49', 250)
    await raise(false)
    const [second] = await scene().charge(
      request('start', 1, 0, requested, { ...by49, sessionId: 'second' }),
    )
    expect(second).toMatchObject({ reason: 'granted', sid: 250 })
    expect((await scene().owner(1)).state.buckets[0]).toMatchObject({ reserved: 10_000 })
    expect((await scene().owner(250)).state.buckets[0]).toMatchObject({ reserved: 10_000 })
  })
})

describe('a removed subscriber', () => {
  it('gets no new units, but used units of its session are settled', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(3_000_000)]))
    stored().clear()
    await raise(true)
    await raise(false)
    const [update] = await scene().charge(request('update', 1, 1, [service(1_000_000, 2_000_000)]))
    expect(update?.reason).toBe('unknownSubscriber')
    const [bucket] = (await scene().owner(1)).state.buckets
    expect(bucket).toMatchObject({ spent: 20_000, reserved: 0, free: 980_000 })
  })
})

describe('the two queues', () => {
  it('leave uncached profiles to the lookup queue; the worker queue never reads', async () => {
    write('1', 1)
    write('2', 2)
    for (const sid of [1, 2]) await scene().credit(sid, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    const before = reads().length
    const outcomes = await fast(
      request('update', 1, 1, requested),
      request('start', 2, 0, requested),
      request('update', 3, 1, requested),
    )
    expect(outcomes.map((outcome) => outcome?.reason)).toEqual([
      'granted',
      undefined,
      'unknownSession',
    ])
    expect(reads()).toHaveLength(before)
    const names = await scene().redis.client.hkeys(scene().ledger.keys.account(aidOf(2)))
    expect(names.filter((name) => name.startsWith('2:'))).toEqual([])
  })

  it('let cached subscribers pass while a reading hangs', async () => {
    write('1', 1)
    write('2', 2)
    for (const sid of [1, 2]) await scene().credit(sid, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, requested))
    let resume: () => void = () => undefined
    waiting = new Promise((resolve) => {
      resume = resolve
    })
    const hanging = scene().charge(request('start', 2, 0, requested))
    for (let number = 1; number <= 5; number += 1) {
      expect((await fast(request('update', 1, number, requested)))[0]?.reason).toBe('granted')
    }
    resume()
    expect((await hanging)[0]?.reason).toBe('granted')
  })

  it('answer storeDown while the catalogue cannot be read', async () => {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    failure = new CatalogUnavailableError('away')
    expect((await scene().charge(request('start', 1, 0, requested)))[0]?.reason).toBe('storeDown')
    failure = null
    expect((await scene().charge(request('start', 1, 0, requested)))[0]?.reason).toBe('granted')
  })

  it('answer storeDown if a reading fails by a defect', async () => {
    failure = new TypeError('a defect')
    expect((await scene().charge(request('start', 1, 0, requested)))[0]?.reason).toBe('storeDown')
    expect(scene().defects.splice(0)).toEqual([failure])
  })

  it('count readings that fail because a stored document is damaged', async () => {
    failure = new FieldError('plan', 'is missing')
    const requests = [request('start', 1, 0, requested)]
    const task = { requests, mayLookUp: true, deadlineMs: FOREVER_MS }
    const { outcomes, stats } = await scene().processor.process(task)
    expect([outcomes[0]?.reason, stats['damaged']]).toEqual(['storeDown', 1])
    expect(scene().defects.splice(0)).toEqual([failure])
  })
})

describe('an unreadable profile', () => {
  const MONTH_MS = 31 * 86_400_000

  /** Three million units are granted; then MongoDB is down and the worker has an empty cache. */
  async function granted(): Promise<void> {
    write('1', 1)
    await scene().credit(1, MONEY, 1_000_000)
    await scene().charge(request('start', 1, 0, [service(3_000_000)]))
    scene().profiles.clear()
    failure = new CatalogUnavailableError('MongoDB: away')
  }

  it('does not block reports of granted units, also across the end of a cycle', async () => {
    await granted()
    const eventTimeMs = NOW_MS + MONTH_MS
    const last = request('release', 1, 1, [service(-1, 2_000_000)], { eventTimeMs })
    expect((await scene().charge(last))[0]).toMatchObject({ reason: 'granted' })
    const { state } = await scene().owner(1)
    expect(state.buckets[0]).toMatchObject({ spent: 20_000, reserved: 0 })
  })

  it('settles nothing without a grant: the answer is storeDown', async () => {
    await granted()
    const other = request('update', 1, 1, [service(-1, 60, { usaget: 'call' })])
    expect((await scene().charge(other))[0]).toMatchObject({ reason: 'storeDown' })
  })
})
