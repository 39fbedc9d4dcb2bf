import { describe, expect, it } from 'vitest'
import type { Override, ServiceRevision } from '../../src/domain/catalogue.ts'
import { activeProductsAt } from '../../src/rating/active-products.ts'
import { catalogueOf, planOf, profileOf } from '../support/rating/catalogue.ts'
import { heldOf, serviceOf } from '../support/rating/offers.ts'

const CALENDAR = { zone: 'UTC', cycleDay: 1 }
const FAR = { fromMs: 0, toMs: 1e15 }

/** Whether the service is active, looked up at one instant after another. */
function heldAt(revisions: [number, number][], instants: number[]): (boolean | undefined)[] {
  const services = revisions.map(
    ([fromMs, toMs], index): ServiceRevision => serviceOf('S', { id: `S@${index}`, fromMs, toMs }),
  )
  const catalogue = catalogueOf([], [planOf('PREPAID', FAR)], services)
  const profile = profileOf({ ...FAR, services: [heldOf('S')] })
  return instants.map(
    (atMs) => activeProductsAt(catalogue, profile, atMs, CALENDAR)?.offers[1]?.isActive,
  )
}

describe('an active product', () => {
  it('follows the revisions of a service, regardless of the instant looked up before', () => {
    const adjoining: [number, number][] = [
      [10, 20],
      [20, 30],
    ]
    expect(heldAt(adjoining, [5, 12, 25, 30, 15])).toEqual([false, true, true, false, true])
    const apart: [number, number][] = [
      [0, 10],
      [20, 30],
    ]
    expect(heldAt(apart, [15, 5, 15, 25])).toEqual([false, true, false, true])
  })

  it('is distinguished by its service instance when each instance has a price of its own', () => {
    const overrides = [1, 2].map(
      (serviceId): Override => ({
        type: 'service',
        key: 'S',
        serviceId,
        conditions: [],
        prices: new Map(),
        groups: null,
        disallowedRates: null,
      }),
    )
    const services = [1, 2].map((serviceId) => heldOf('S', { serviceId }))
    const profile = profileOf({ ...FAR, services, overrides })
    const catalogue = catalogueOf([], [planOf('PREPAID', FAR)], [serviceOf('S')])
    const offers = activeProductsAt(catalogue, profile, 1, CALENDAR)?.offers ?? []
    expect(new Set(offers.map(({ id }) => id)).size).toBe(3)
  })

  it('that the plan includes begins with the plan, not with the revision of the subscriber', () => {
    const period = { months: 0, days: 14, hours: 0, untilMidnight: false }
    const catalogue = catalogueOf(
      [],
      [planOf('PREPAID', { ...FAR, services: ['S'] })],
      [serviceOf('S', { period })],
    )
    const periods = [1000, 2000].map((fromMs) => {
      const profile = profileOf({ fromMs, toMs: 1e15, planFromMs: 1000 })
      const offer = activeProductsAt(catalogue, profile, fromMs, CALENDAR)?.offers[1]
      return [offer?.fromMs, offer?.toMs]
    })
    expect(periods).toEqual([1000, 1000].map((fromMs) => [fromMs, fromMs + 14 * 86_400_000]))
  })
})
