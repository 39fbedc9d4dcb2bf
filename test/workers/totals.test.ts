/** Reports of total usage, session costs, and sessions that open without a service. */
import { beforeEach, describe, expect, it } from 'vitest'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { sweepPartition } from '../../src/ledger/sweep.ts'
import { useNode } from '../support/workers/nodes.ts'
import {
  LEDGER,
  MONEY,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  profileOf,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const SWEEP = { batchMax: 100, leaseMs: 10_000, replayMs: 600_000, token: 'test' }

const { redis, scene } = useNode()
beforeEach(async () => {
  await scene().credit(7, MONEY, 10_000_000)
})

const call = (requested: number, used = 0, isTotal = false) =>
  service(requested, used, { usaget: 'call', isTotal })

async function charge(...requests: Parameters<ProcessorFixture['charge']>) {
  const outcomes = await scene().charge(...requests)
  return outcomes
}

async function money() {
  const { buckets } = (await scene().owner(7)).state
  return buckets.map(({ spent, reserved, free }) => ({ spent, reserved, free }))
}

describe('usage as the total of the session', () => {
  it('settles the units added since the last report', async () => {
    await charge(request('start', 7, 0, [call(60)]))
    await charge(request('update', 7, 1, [call(60, 60, true)]))
    // Two minutes in all, and the access price once.
    await charge(request('update', 7, 2, [call(60, 110, true)]))
    const [end] = await charge(request('release', 7, 3, [call(-1, 130, true)]))
    expect(end).toMatchObject({ reason: 'granted', cost: 350_000 })
    expect(await money()).toEqual([{ spent: 350_000, reserved: 0, free: 9_650_000 }])
  })

  it('is counted once if it is repeated in another request', async () => {
    await charge(request('start', 7, 0, [call(60)]))
    await charge(request('update', 7, 1, [call(60, 60, true)]))
    const [again] = await charge(request('update', 7, 2, [call(60, 60, true)]))
    expect(again).toMatchObject({ reason: 'granted', cost: 150_000 })
    await charge(request('release', 7, 3, [call(-1, 60, true)]))
    expect(await money()).toEqual([{ spent: 150_000, reserved: 0, free: 9_850_000 }])
  })

  it('below the reported total is denied and moves nothing', async () => {
    await charge(request('start', 7, 0, [call(60)]))
    await charge(request('update', 7, 1, [call(60, 60, true)]))
    const before = await money()
    const [less] = await charge(request('update', 7, 2, [call(60, 59, true)]))
    const services = [{ granted: 0, cost: 150_000 }]
    expect(less).toMatchObject({ reason: 'totalBelow', services, cost: 150_000 })
    expect(await money()).toEqual(before)
  })

  it('is split where a cycle ends, like any other', async () => {
    const endMs = Date.UTC(2026, 3, 1)
    const at = (seconds: number) => ({ eventTimeMs: endMs + seconds * 1000, eventTimeGiven: true })
    scene().clock.set(endMs - 30_000)
    await charge(request('start', 7, 0, [call(600)], at(-30)))
    // 30 s and 70 s: the access price and two minutes, the first of which continues after the end.
    const [split] = await charge(request('update', 7, 1, [call(600, 100, true)], at(70)))
    expect(split).toMatchObject({ cost: 250_000 })
    await charge(request('update', 7, 2, [call(-1, 160, true)], at(130)))
    const [end] = await charge(request('release', 7, 3, [call(-1, 161, true)], at(131)))
    expect(end).toMatchObject({ cost: 350_000 })
    expect(await money()).toEqual([{ spent: 350_000, reserved: 0, free: 9_650_000 }])
  })

  it('that could not be charged is part of the next report', async () => {
    const unpriced = (used: number) => service(-1, used, { usaget: 'sms', isTotal: true })
    await charge(request('start', 7, 0, [call(60)]))
    const tooMuch = call(60, Number.MAX_SAFE_INTEGER, true)
    const [refused] = await charge(request('update', 7, 1, [tooMuch, unpriced(5)]))
    expect(refused).toMatchObject({ services: [{ reason: 'pricing' }, { reason: 'noRate' }] })
    const [update] = await charge(request('update', 7, 2, [call(60, 60, true), unpriced(4)]))
    expect(update).toMatchObject({ services: [{ cost: 150_000 }, { reason: 'noRate' }] })
    expect(await money()).toMatchObject([{ spent: 150_000, reserved: 100_000 }])
  })

  it('continues after the session has expired', async () => {
    await charge(request('start', 7, 0, [call(60)]))
    await charge(request('update', 7, 1, [call(60, 60, true)]))
    scene().clock.set(NOW_MS + 3_700_000)
    for (let partition = 0; partition < LEDGER.partitions; partition += 1) {
      await sweepPartition(scene().ledger, partition, SWEEP, scene().clock.nowMs())
    }
    const [late] = await charge(request('update', 7, 2, [call(60, 61, true)]))
    expect(late).toMatchObject({ detail: 'the session had expired', cost: 250_000 })
    // A total without new units only requests units, for which it is too late.
    const [silent] = await charge(request('update', 7, 3, [call(60, 61, true)]))
    expect(silent).toMatchObject({ reason: 'sessionClosed', detail: 'it expired' })
  })

  it('is closed without the profile if it has no new units', async () => {
    let isAway = false
    const without = await openProcessorFixture(redis().url, {
      read: async ({ value }) => {
        if (isAway) throw new CatalogUnavailableError('away')
        const found = profileOf(Number(value))
        return found === null ? null : { profile: found, validUntilMs: found.toMs }
      },
    })
    await without.charge(request('start', 7, 0, [call(60)]))
    await without.charge(request('update', 7, 1, [call(-1, 60, true)]))
    without.profiles.clear()
    isAway = true
    const [end] = await without.charge(request('release', 7, 2, [call(-1, 60, true)]))
    expect(end).toMatchObject({ reason: 'granted', cost: 150_000 })
    await without.close()
  })
})

describe('the cost of a session so far', () => {
  it('is reported for each service and in total', async () => {
    const data = (requested: number, used = 0) => service(requested, used)
    const [start] = await charge(request('start', 7, 0, [call(60), data(1_000_000)]))
    expect(start).toMatchObject({ cost: 0, services: [{ cost: 0 }, { cost: 0 }] })
    const [update] = await charge(request('update', 7, 1, [call(60, 60), data(1_000_000, 1)]))
    expect(update).toMatchObject({
      cost: 160_000,
      services: [{ cost: 150_000 }, { cost: 10_000 }],
    })
    const [one] = await charge(request('update', 7, 2, [call(60, 60)]))
    expect(one).toMatchObject({ cost: 260_000, services: [{ cost: 250_000 }] })
    const [replayed] = await charge(request('update', 7, 2, [call(60, 60)]))
    expect(replayed).toEqual(one)
    const [end] = await charge(request('release', 7, 3, []))
    expect(end).toMatchObject({ cost: 260_000 })
  })

  it('of an event is its price, and zero after its refund', async () => {
    const [event] = await charge(request('event', 7, 0, [call(60)]))
    expect(event).toMatchObject({ cost: 150_000, services: [{ cost: 150_000 }] })
    const [back] = await charge(request('event', 7, 1, [], { refund: true }))
    expect(back).toMatchObject({ reason: 'granted', cost: 0, services: [{ cost: 0 }] })
  })
})

describe('a start that names no service', () => {
  it('opens the session, whose updates name its services', async () => {
    const [start] = await charge(request('start', 7, 0, []))
    expect(start).toMatchObject({ reason: 'granted', services: [] })
    const nobody = { subscriberKey: 'none' as const, subscriberValue: '' }
    const [update] = await charge(request('update', 7, 1, [call(60)], nobody))
    expect(update).toMatchObject({ reason: 'granted', services: [{ granted: 60 }] })
    expect(await money()).toMatchObject([{ reserved: 150_000 }])
  })

  it('opens nothing if it is pretended', async () => {
    await charge(request('start', 7, 0, [], { pretend: true }))
    const [update] = await charge(request('update', 7, 1, [call(60)]))
    expect(update).toMatchObject({ reason: 'unknownSession' })
  })
})
