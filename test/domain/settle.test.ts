import { describe, expect, it } from 'vitest'
import { type Bucket, bucketOrder, type OwnerState, paysFor } from '../../src/domain/bucket.ts'
import type { Settlement } from '../../src/domain/charge-program.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { UNLIMITED } from '../../src/domain/pricing/tier.ts'
import { emptyService } from '../../src/domain/segment.ts'
import { settle } from '../../src/domain/settle.ts'
import { PriceRangeError, type Tariff } from '../../src/domain/tariff.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { startOf } from '../support/domain/programs.ts'
import { readTable } from '../support/domain/table.ts'
import { FALLING, tariffFrom } from '../support/domain/tariffs.ts'

/** `units 10; money 25; money 0 limit 7` in their order of payment. */
function bucketsFrom(text: string): Bucket[] {
  if (text === '–') return []
  return text.split(';').map((part, index) => {
    const [kind, amount, , limit = '0'] = part.trim().split(' ')
    const more = { id: index + 1, priority: 100 - index, limit: Number(limit) }
    const credited = Number(amount)
    return kind === 'units' ? bucketOf({ credited, ...more }) : moneyOf(credited, more)
  })
}

interface Step {
  used?: number
  requested?: number
  key?: string
  tariff?: Tariff
  atMs?: number
  end?: 'none' | 'closed' | 'expired'
  exact?: boolean
}

/** One service of one subscriber, settled step by step. */
class SettleFixture {
  subscriber: OwnerState
  service = emptyService(serviceIdentity({ usaget: 'data' }))
  readonly #tariff: Tariff

  constructor(tariff: string, buckets: string | Bucket[]) {
    this.#tariff = tariffFrom(tariff)
    this.subscriber = ownerOf(typeof buckets === 'string' ? bucketsFrom(buckets) : buckets)
  }

  step({ used = 0, requested = 0, key = 'a', tariff, atMs = 0, end, exact }: Step): Settlement {
    const { subscriber, service } = this
    const start = startOf(tariff ?? this.#tariff, { key })
    const order = bucketOrder(subscriber, null, paysFor('data'), atMs)
    const settled = settle(
      { subscriber, account: null, service },
      {
        used,
        requested,
        exact: exact ?? false,
        next: start,
        atMs,
        end: end ?? 'none',
        order,
        nextOrder: order,
      },
    )
    this.subscriber = settled.subscriber
    this.service = settled.service
    return settled
  }

  /** A property of all buckets: `5; 0`. */
  column(name: 'free' | 'reserved' | 'spent'): string {
    const { buckets } = this.subscriber
    return buckets.length === 0 ? '–' : buckets.map((bucket) => bucket[name]).join('; ')
  }
}

/** Grants and reserved units after the first units were granted and used; `*`: the last units. */
const GRANTS = readTable(`
  | case                  | tariff | buckets                   | first | asks | granted | reserved |
  |-----------------------|--------|---------------------------|-------|------|---------|----------|
  | units alone           | 1/1    | units 30                  | 0     | 20   | 20      | 20       |
  | the last units        | 1/1    | units 20                  | 0     | 20   | 20 *    | 20       |
  | fewer than asked      | 1/1    | units 20                  | 0     | 50   | 20 *    | 20       |
  | nothing               | 1/1    | –                         | 0     | 50   | 0 *     | –        |
  | units before money    | 1/1    | units 10; money 30        | 0     | 20   | 20      | 10; 10   |
  | money before units    | 1/1    | money 5; units 10         | 0     | 12   | 12      | 5; 7     |
  | whole intervals       | 10/10  | money 25                  | 0     | 100  | 20 *    | 20       |
  | to the interval end   | 10/10  | money 25                  | 0     | 11   | 11      | 20       |
  | remainders together   | 10/10  | money 5; money 5          | 0     | 10   | 10 *    | 5; 5     |
  | also around units     | 10/10  | money 5; units 3; money 5 | 0     | 13   | 13 *    | 5; 3; 5  |
  | remainder, then units | 10/10  | money 15; units 3         | 0     | 20   | 13 *    | 10; 3    |
  | together too little   | 10/10  | money 5; money 4          | 0     | 10   | 0 *     | 0; 0     |
  | a begun interval      | 10/10  | money 10                  | 1     | 20   | 9 *     | 0        |
  | its rest, then units  | 10/10  | money 10; units 5         | 1     | 10   | 10      | 0; 1     |
  | units, then its rest  | 10/10  | units 5; money 10         | 2     | 10   | 10      | 3; 10    |
  | its rest alone        | 10/10  | units 5; money 10         | 6     | 20   | 9 *     | 0; 0     |
  | down to the limit     | 1/1    | money 3 limit 4           | 0     | 20   | 7 *     | 7        |
  | access at first unit  | 1/1+5  | money 7                   | 0     | 20   | 2 *     | 7        |
  | access buys nothing   | 1/1+5  | money 5                   | 0     | 20   | 0 *     | 0        |
  | no access for units   | 1/1+5  | units 4; money 5          | 0     | 20   | 4 *     | 4; 0     |
  | access only once      | 1/1+5  | money 9                   | 1     | 20   | 3 *     | 3        |
  | free needs nobody     | 0/1    | –                         | 0     | 20   | 20      | –        |
  | free touches no units | 0/1    | units 5                   | 0     | 20   | 20      | 0        |
`)

describe('a grant', () => {
  it.each(GRANTS)('$case: $asks of $buckets at $tariff after $first', (row) => {
    const scene = new SettleFixture(row['tariff']!, row['buckets']!)
    const first = Number(row['first'])
    if (first > 0) scene.step({ requested: first })
    const settled = scene.step({ used: first, requested: Number(row['asks']) })
    expect(`${settled.granted}${settled.finalUnit ? ' *' : ''}`).toBe(row['granted'])
    expect(scene.column('reserved')).toBe(row['reserved'])
  })

  it('is all or nothing if it must be exact', () => {
    const scene = new SettleFixture('1/1', 'units 5')
    expect(scene.step({ requested: 6, exact: true }).granted).toBe(0)
    expect(scene.column('free')).toBe('5')
    expect(scene.step({ requested: 5, exact: true }).granted).toBe(5)
  })

  it('ends with the first bucket that holds a part of it', () => {
    const scene = new SettleFixture('1/1', [
      bucketOf({ credited: 5, toMs: 500, priority: 3 }),
      bucketOf({ id: 2, credited: 5, toMs: 300, priority: 2 }),
      moneyOf(5, { id: 3, toMs: 100, priority: 1 }),
    ])
    expect(scene.step({ requested: 5 }).bucketsEndMs).toBe(500)
    expect(scene.step({ requested: 10 }).bucketsEndMs).toBe(300)
    expect(scene.step({ requested: 11 }).bucketsEndMs).toBe(100)
    expect(new SettleFixture('0/1', '–').step({ requested: 5 }).bucketsEndMs).toBe(Infinity)
  })
})

/** The effect of usage on buckets from which only `held` units were granted. */
const USES = readTable(`
  | case                | tariff | buckets                  | held | used | free   | spent  | debt |
  |---------------------|--------|--------------------------|------|------|--------|--------|------|
  | less than granted   | 1/1    | units 30                 | 20   | 7    | 23     | 7      | 0    |
  | nothing             | 1/1    | units 30                 | 20   | 0    | 30     | 0      | 0    |
  | last held goes back | 1/1    | units 10; money 30       | 20   | 12   | 0; 28  | 10; 2  | 0    |
  | last money back     | 1/1    | money 5; money 5         | 10   | 7    | 0; 3   | 5; 2   | 0    |
  | a begun interval    | 10/10  | money 30                 | 30   | 11   | 10     | 20     | 0    |
  | over-use of units   | 1/1    | units 30                 | 20   | 25   | 5      | 25     | 0    |
  | over-use in order   | 1/1    | units 10; money 30       | 5    | 25   | 0; 15  | 10; 15 | 0    |
  | nobody can pay      | 1/1    | units 10; money 5        | 15   | 25   | 0; 0   | 10; 5  | 10   |
  | debt for a part     | 10/10  | money 15                 | 10   | 11   | 0      | 15     | 5    |
  | no bucket at all    | 1/1    | –                        | 0    | 4    | –      | –      | 4    |
  | in a begun interval | 10/10  | money 10                 | 1    | 10   | 0      | 10     | 0    |
  | beyond the limit    | 1/1    | money 3 limit 4          | 7    | 20   | -17    | 20     | 0    |
  | credit used up      | 1/1    | money 0 limit 4; units 2 | 6    | 10   | -8; 0  | 8; 2   | 0    |
  | prepaid and credit  | 1/1    | money 0 limit 4; money 3 | 0    | 20   | -17; 0 | 17; 3  | 0    |
  | no credit in units  | 1/1    | units 3 limit 4          | 7    | 9    | -4     | 7      | 2    |
  | over-use for free   | 0/1    | units 3                  | 1    | 9    | 3      | 0      | 0    |
`)

describe('usage', () => {
  it.each(USES)('$case: $used used, $held granted from $buckets at $tariff', (row) => {
    const scene = new SettleFixture(row['tariff']!, row['buckets']!)
    const granted = Number(row['held'])
    expect(scene.step({ requested: granted }).granted).toBe(granted)
    const { changes } = scene.step({ used: Number(row['used']) })
    expect(scene.column('free')).toBe(row['free'])
    expect(scene.column('spent')).toBe(row['spent'])
    expect(scene.subscriber.owed).toBe(Number(row['debt']))
    expect(changes[0]?.segment.counts.debt ?? 0).toBe(Number(row['debt']))
  })

  it('is charged to a credit that has reached its limit, and does not become debt', () => {
    const scene = new SettleFixture('1/1', 'money 0 limit 4')
    scene.step({ requested: 4 })
    scene.step({ used: 4 })
    scene.step({ used: 3 })
    expect(scene.column('free')).toBe('-7')
    expect(scene.subscriber.owed).toBe(0)
    expect(scene.step({ requested: 1 }).granted).toBe(0)
  })

  it('costs the same however it is reported', () => {
    const whole = new SettleFixture('7/10+3', 'money 1000')
    whole.step({ used: 95, end: 'closed' })
    const parts = new SettleFixture('7/10+3', 'money 1000')
    for (const used of [1, 9, 10, 4, 50, 21]) parts.step({ used, requested: 13 })
    parts.step({ end: 'closed' })
    expect(parts.column('spent')).toBe('73')
    expect(parts.subscriber).toEqual(whole.subscriber)
  })

  it('leaves everything unchanged if its price is out of range', () => {
    const scene = new SettleFixture('4503599627370496/1', 'money 0 limit 5')
    scene.step({ used: 1 })
    const before = structuredClone(scene.subscriber)
    expect(() => scene.step({ used: 1 })).toThrow(PriceRangeError)
    expect(scene.subscriber).toEqual(before)
  })

  it.each([
    ['debt', new SettleFixture('4503599627370496/1', '–')],
    ['the amount paid by a bucket', new SettleFixture('4503599627370496/1', 'money 0 limit 5')],
  ])('is refused if %s would no longer be exact', (what, scene) => {
    scene.step({ used: 1, end: 'closed' })
    expect(() => scene.step({ used: 1 })).toThrow(`${what} exceeds 2^53`)
  })

  it('is refused if it can no longer be counted', () => {
    const scene = new SettleFixture('0/1', '–')
    scene.step({ used: UNLIMITED })
    expect(() => scene.step({ used: 1 })).toThrow('usage of a segment exceeds 2^53')
  })
})

describe('a segment', () => {
  it('ends when units are requested under another key; the next one begins a new interval', () => {
    const scene = new SettleFixture('10/10', 'money 100')
    scene.step({ requested: 5 })
    const { changes } = scene.step({ used: 5, requested: 5, key: 'b', tariff: tariffFrom('3/10') })
    expect(changes).toMatchObject([
      {
        state: 'ended',
        segment: { key: 'a', number: 1, version: 1, counts: { used: 5, charged: 10 } },
      },
    ])
    // Five of the ten units that were sold are left.
    const next = scene.step({ used: 6, end: 'closed' }).changes
    expect(next).toMatchObject([
      {
        state: 'closed',
        segment: { key: 'b', number: 2, version: 1, counts: { used: 6, charged: 3 } },
      },
    ])
    expect(scene.column('free')).toBe('87')
  })

  it('has the access price if no earlier segment had it', () => {
    const scene = new SettleFixture('1/1+50', 'units 1; money 200')
    const charged: number[] = []
    for (const key of ['a', 'b', 'c']) {
      scene.step({ requested: 1, key })
      const { changes } = scene.step({ used: 1, end: 'closed' })
      charged.push(changes[0]!.segment.counts.charged)
    }
    // The first was paid in units: no unit was charged, so no access price was due yet.
    expect(charged).toEqual([0, 51, 1])
  })

  it('has a version for each change of its line, and only for these', () => {
    const scene = new SettleFixture('1/1', 'units 100')
    const versions: [number, string][] = []
    const steps: Step[] = [
      { requested: 10 },
      { used: 3, requested: 10 },
      { requested: 10 },
      { used: 4 },
      { end: 'closed' as const },
    ]
    for (const step of steps) {
      for (const { segment, state } of scene.step(step).changes) {
        versions.push([segment.version, state])
      }
    }
    expect(versions).toEqual([
      [1, 'open'],
      [2, 'open'],
      [3, 'closed'],
    ])
  })

  it('without usage leaves an empty line when the service closes', () => {
    const scene = new SettleFixture('1/1', 'units 100')
    scene.step({ requested: 10 })
    const { changes } = scene.step({ end: 'closed' })
    expect(changes).toMatchObject([
      { segment: { counts: { used: 0, charged: 0 } }, state: 'closed' },
    ])
    expect(scene.column('free')).toBe('100')
  })

  it('shows units returned to buckets that had ended in the meantime', () => {
    const scene = new SettleFixture('1/1', [
      bucketOf({ credited: 10, toMs: 100 }),
      moneyOf(10, { id: 2, toMs: 100 }),
    ])
    scene.step({ requested: 15 })
    const { changes } = scene.step({ used: 4, atMs: 100 })
    expect(changes[0]?.segment).toMatchObject({
      counts: { forfeitedUnits: 6, forfeitedMicros: 5, debt: 0 },
    })
    expect(scene.column('free')).toBe('6; 10')
    expect(scene.step({ requested: 1, atMs: 100 }).granted).toBe(0)
  })

  it('accepts the events of a session in any order', () => {
    const scene = new SettleFixture('1/1', 'units 100')
    scene.step({ requested: 10, atMs: 50 })
    scene.step({ used: 1, atMs: 90 })
    const { changes } = scene.step({ used: 1, atMs: 70 })
    expect(changes[0]?.segment).toMatchObject({ counts: { firstMs: 50, lastMs: 90 } })
  })
})

describe('settlement', () => {
  it('changes nothing in place', () => {
    const scene = new SettleFixture('1/1', 'units 10; money 10')
    scene.step({ requested: 15 })
    const { subscriber, service } = scene
    const before = structuredClone({ subscriber, service })
    scene.step({ used: 20, requested: 5, end: 'none' })
    expect({ subscriber, service }).toEqual(before)
  })

  it('returns the reduction of a volume price, to debt first, also if that is repaid', () => {
    const scene = new SettleFixture('1/1', 'money 60')
    expect(scene.step({ used: 10, tariff: FALLING }).changes[0]?.segment).toMatchObject({
      counts: { debt: 40 },
    })
    const [bucket] = scene.subscriber.buckets
    // A top-up pays half of the debt.
    const paid = { ...bucket!, credited: 80, spent: 80 }
    scene.subscriber = { ...scene.subscriber, repaid: 20, buckets: [paid] }
    const { changes } = scene.step({ used: 1, tariff: FALLING })
    // Only debt still owed can be forgiven; the rest is returned to the money, or credited.
    const segment = changes[0]!.segment
    const payments = [{ amount: 0 }, { kind: 'creditedMoney', amount: -9 }]
    expect(segment).toMatchObject({ counts: { charged: 11, debt: 20, payments } })
    expect(scene.subscriber).toMatchObject({ owed: 20, repaid: 20 })
    expect([scene.column('spent'), scene.column('free')]).toEqual(['20', '69'])
  })
})
