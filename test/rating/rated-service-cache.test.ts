import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import { emptyOwner } from '../../src/domain/bucket.ts'
import type { IncludedGroup, Override, TaxRevision, TimeBand } from '../../src/domain/catalogue.ts'
import { openFundingSources } from '../../src/rating/funding-sources.ts'
import { type RatingContext, rateService } from '../../src/rating/program.ts'
import type { RatedService } from '../../src/rating/rated-service-cache.ts'
import type { Usage } from '../../src/rating/usage-fields.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import {
  catalogueOf,
  contextOf,
  planOf,
  priceFrom,
  profileOf,
  rateOf,
} from '../support/rating/catalogue.ts'

const JUNE = Date.UTC(2026, 5, 29)
const DAY = 86_400_000
const FAR = Date.UTC(2100, 0)

function tax(id: string, fromMs: number, toMs: number): TaxRevision {
  const rate = id === 'old' ? '0.17' : '0.19'
  return { id, key: 'VAT', description: id, rate, isEmbedded: false, params: {}, fromMs, toMs }
}

const NIGHT: TimeBand = {
  name: 'night',
  days: new Set<number>(),
  dates: new Set<string>(),
  fromSecond: 22 * 3600,
  toSecond: 6 * 3600,
  tariff: tariffFrom('1/1'),
}
const GROUP: IncludedGroup = {
  name: 'G',
  kind: 'units',
  total: 100,
  usagets: new Set(['data']),
  rates: 'all',
  sharing: 'none',
  isPerQuantity: false,
}

/** Resolves when the object has been garbage-collected. */
async function collected(reference: WeakRef<object>): Promise<void> {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  await vi.waitFor(() => {
    collect()
    expect(reference.deref() === undefined).toBe(true)
  })
}

/** The cache is bound to these objects: a new context has an empty one. */
function newContext(): RatingContext {
  const banded = { tariff: tariffFrom('9/1'), bands: [NIGHT] }
  const call = new Map([['call', { base: banded, plans: new Map() }]])
  const early = { id: 'DATA@1', toMs: JUNE + 1.5 * DAY }
  const rates = [
    rateOf('DATA', 'data', '2/10', early),
    rateOf('DATA', 'data', '3/10', { id: 'DATA@2', fromMs: early.toMs, toMs: FAR }),
    rateOf('CALL', 'call', '9/1', { toMs: FAR, usages: call }),
  ]
  const override = new Map([['data', { kind: 'price' as const, price: priceFrom('7/1') }]])
  const plans = [
    planOf('PREPAID', { toMs: JUNE + 3.5 * DAY }),
    planOf('GOLD', { toMs: FAR, groups: [GROUP], prices: new Map([['DATA', override]]) }),
    planOf('POSTPAID', { toMs: FAR, connectionType: 'postpaid' }),
  ]
  const change = JUNE + 2.5 * DAY
  const taxes = [tax('old', 0, change), tax('new', change, FAR)]
  return contextOf(catalogueOf(rates, plans, [], taxes))
}

const drawn = fc.record({
  profile: fc.record({
    plan: fc.constantFrom('PREPAID', 'GOLD', 'POSTPAID'),
    toMs: fc.constantFrom(FAR, JUNE + DAY),
    creditLimit: fc.constantFrom(null, 5),
    accountCreditLimit: fc.constantFrom(null, 6),
    timeZone: fc.constantFrom('', 'Asia/Tokyo'),
  }),
  usaget: fc.constantFrom('data', 'call'),
  untaxed: fc.boolean(),
  hours: fc.integer({ min: 0, max: 5 * 24 }),
  laterHours: fc.constantFrom(0, 0, 24 * 40),
})

describe('a cached rating', () => {
  const usage = (atMs: number, more = {}): Usage => {
    return { service: serviceRequest(more), fields: null, atMs, nowMs: atMs }
  }
  const startOf = (context: RatingContext, atMs: number, sid: number) =>
    (rateService(context, profileOf({ sid, toMs: FAR }), usage(atMs)) as RatedService).start

  it('serves all subscribers of the same plan until the plan changes', () => {
    const context = newContext()
    const first = startOf(context, JUNE, 1)
    expect(startOf(context, JUNE + DAY, 2)).toBe(first)
    expect(startOf(context, JUNE + 2 * DAY, 2)).not.toBe(first)
  })

  it('serves all limits of postpaid credit, each with its own limit', () => {
    const context = newContext()
    const limits = [1, 2, 3, 4, 5, 6, 7].map((creditLimit) => ({
      creditLimit,
      accountCreditLimit: creditLimit * 10,
    }))
    const starts = [...limits, ...limits].map((limit) => {
      const profile = profileOf({ ...limit, plan: 'POSTPAID', toMs: FAR })
      const rated = rateService(context, profile, usage(JUNE)) as RatedService
      const owners = { subscriber: emptyOwner(1, 7), account: null }
      const { subscriber, account } = openFundingSources(owners, rated, profile).owners
      expect(subscriber.buckets.map((bucket) => bucket.limit)).toEqual([limit.creditLimit])
      expect(account?.buckets.map((bucket) => bucket.limit)).toEqual([limit.accountCreditLimit])
      return rated.start
    })
    expect(new Set(starts).size).toBe(1)
  })

  it('differs by catalogue, also with the same plans and rates', () => {
    const context = newContext()
    const taxed = startOf(context, JUNE, 1)
    const untaxed = { ...context, catalogue: { ...context.catalogue, taxes: new Map() } }
    expect(startOf(untaxed, JUNE, 1).pricing.taxes).toEqual([])
    expect(startOf(context, JUNE, 1)).toEqual(taxed)
  })

  it('does not keep a replaced catalogue in memory', async () => {
    const first = newContext()
    const profiles = ['PREPAID', 'GOLD'].map((plan) => profileOf({ plan, toMs: FAR }))
    const override: Override = {
      type: 'plan',
      key: 'GOLD',
      serviceId: 0,
      conditions: [],
      prices: null,
      groups: null,
      disallowedRates: null,
    }
    profiles.push(profileOf({ plan: 'GOLD', overrides: [override], toMs: FAR }))
    const rateAll = (context: RatingContext) =>
      profiles.map((profile) => rateService(context, profile, usage(JUNE)) as RatedService)
    // The same plans and rates, as after an unrelated change.
    const changed = () => contextOf({ ...first.catalogue })
    const old = ((context) => {
      expect(rateAll(context)).toHaveLength(3)
      return new WeakRef(context.catalogue)
    })(changed())
    const idle = profiles.splice(1)
    rateAll(changed())
    await collected(old)
    expect([...profiles, ...idle]).toHaveLength(3)
  })

  it('is valid no longer than the profile', () => {
    const context = newContext()
    const [first, second] = [FAR, JUNE + 5].map(
      (toMs) => rateService(context, profileOf({ toMs }), usage(JUNE)) as RatedService,
    )
    expect(second?.start).toBe(first?.start)
    expect([first?.untilMs, second?.untilMs]).toEqual([JUNE + 1.5 * DAY, JUNE + 5])
  })

  it('differs by local time', () => {
    const context = newContext()
    const bands = ['', 'Asia/Tokyo', ''].map((timeZone) => {
      const profile = profileOf({ timeZone, toMs: FAR })
      const asked = usage(JUNE + 15 * 3_600_000, { usaget: 'call' })
      return (rateService(context, profile, asked) as RatedService).start.pricing.band
    })
    expect(bands).toEqual(['', 'night', ''])
  })

  it('equals a fresh rating, in any order of time, plan, limit, zone and usage', () => {
    fc.assert(
      fc.property(fc.array(drawn, { minLength: 2, maxLength: 30 }), (steps) => {
        const context = newContext()
        for (const { profile, usaget, untaxed, hours, laterHours } of steps) {
          const atMs = JUNE + hours * 3_600_000
          const service = serviceRequest({ usaget, untaxed })
          const asked = { service, fields: null, atMs, nowMs: atMs + laterHours * 3_600_000 }
          const subscriber = profileOf(profile)
          expect(rateService(context, subscriber, asked)).toEqual(
            rateService(newContext(), subscriber, asked),
          )
        }
      }),
      propertyRuns(300),
    )
  })
})
