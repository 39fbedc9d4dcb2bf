import { describe, expect, it } from 'vitest'
import type { SubscriberProfile } from '../../src/domain/catalogue.ts'
import type { ServiceRequest } from '../../src/domain/charge-request.ts'
import { serviceIdentity } from '../../src/domain/identity.ts'
import { emptyService, startedService } from '../../src/domain/segment.ts'
import {
  buildProgram,
  needsRating,
  type RatingContext,
  rateService,
} from '../../src/rating/program.ts'
import type { RatedService } from '../../src/rating/rated-service-cache.ts'
import { bucketOf, moneyOf, ownerOf } from '../support/domain/owners.ts'
import { startOf } from '../support/domain/programs.ts'
import { serviceRequest } from '../support/domain/requests.ts'
import { tariffFrom } from '../support/domain/tariffs.ts'
import { catalogueOf, contextOf, planOf, profileOf, rateOf } from '../support/rating/catalogue.ts'

const JULY = Date.UTC(2026, 6, 1)
const AUGUST = Date.UTC(2026, 7, 1)
const HOUR = 3_600_000
const FAR = Date.UTC(2100, 0)

function contextUntil(rateToMs = FAR, planToMs = FAR): RatingContext {
  return contextOf(
    catalogueOf(
      [rateOf('DATA', 'data', '1/1', { toMs: rateToMs })],
      [planOf('PREPAID', { toMs: planToMs })],
    ),
  )
}

/** Rates a usage at an instant that is also the current time. */
function rate(
  context: RatingContext,
  profile: SubscriberProfile,
  service: ServiceRequest,
  atMs: number,
) {
  return rateService(context, profile, { service, fields: null, atMs, nowMs: atMs })
}

const DATA = serviceRequest()
const NOTHING = { requested: 0, used: 0, usedBefore: -1 }
const FREE_PROFILE = profileOf({ toMs: FAR })

describe('a rated service', () => {
  it('names everything that pricing depends on', () => {
    expect(rate(contextUntil(), FREE_PROFILE, DATA, JULY)).toEqual({
      start: startOf(tariffFrom('1/1'), {
        key: 'DATA@0|PREPAID|202608|||',
        rateKey: 'DATA',
        plan: 'PREPAID',
        cycle: '202608',
        endMs: AUGUST,
      }),
      funding: { groups: [], credit: null, oldestMs: Date.UTC(2026, 5, 1) },
      untilMs: AUGUST,
    })
  })

  it.each([
    ['rate revision', contextUntil(JULY + HOUR), FREE_PROFILE],
    ['plan revision', contextUntil(FAR, JULY + HOUR), FREE_PROFILE],
    ['subscriber revision', contextUntil(), profileOf({ toMs: JULY + HOUR })],
  ])('is valid until the end of the %s', (_what, context, profile) => {
    const rated = rate(context, profile, DATA, JULY) as RatedService
    expect(rated.untilMs).toBe(JULY + HOUR)
  })

  it('has another key in another cycle', () => {
    const keys = [AUGUST - 1, AUGUST].map(
      (atMs) => (rate(contextUntil(), FREE_PROFILE, DATA, atMs) as RatedService).start.key,
    )
    expect(new Set(keys).size).toBe(2)
  })

  it.each([
    ['barred', profileOf({ barred: true }), DATA],
    ['unknownSubscriber', profileOf({ plan: 'NO_SUCH_PLAN' }), DATA],
    ['noRate', FREE_PROFILE, serviceRequest({ usaget: 'fax' })],
  ])('is denied with a reason: %s', (reason, profile, service) => {
    expect(rate(contextUntil(), profile, service, JULY)).toBe(reason)
  })

  it('is denied if the plan has no revision at that instant', () => {
    expect(rate(contextUntil(FAR, JULY), FREE_PROFILE, DATA, JULY)).toBe('unknownSubscriber')
  })
})

describe('the catalogue', () => {
  const idle = emptyService(serviceIdentity({ usaget: 'data' }))
  const { segment } = startedService(idle, startOf(tariffFrom('1/1'), { endMs: 10 }), 0)
  const held = { units: 1, slices: [{ bucket: null, units: 1, isCovered: false }], money: [] }
  it.each([
    ['units are requested', { requested: 1 }, idle, true],
    ['further units are requested', { requested: 1 }, { ...idle, segment }, true],
    ['an unused service reports units', { used: 1 }, idle, true],
    ['granted units are used', { used: 1 }, { ...idle, segment, reservation: held }, false],
    [
      'more units are used than granted, and none are reserved',
      { used: 1 },
      { ...idle, segment },
      true,
    ],
    ['nothing happens', {}, idle, false],
    ['zero units are requested', { requested: 0 }, idle, false],
  ])('is needed if %s', (_what, request, service, needed) => {
    expect(needsRating('update', serviceRequest(request), service, false, 9)).toBe(needed)
  })

  it.each([
    ['release', idle, true],
    ['event', idle, true],
    ['release', { ...idle, segment }, false],
    ['release', { ...idle, usedTotal: 5 }, false],
    ['update', idle, false],
  ] as const)('is needed for the line of an unused service: %s', (kind, service, needed) => {
    expect(needsRating(kind, NOTHING, service, false, 9)).toBe(needed)
    expect(needsRating(kind, NOTHING, service, true, 9)).toBe(false)
  })

  it('is not needed for late usage of a service whose price the session has stored', () => {
    expect(needsRating('release', { ...NOTHING, used: 1 }, { ...idle, segment }, true, 9)).toBe(
      false,
    )
    expect(needsRating('release', { ...NOTHING, used: 1 }, idle, true, 9)).toBe(true)
  })
})

describe('a charge program', () => {
  it('has the buckets that may pay at the event time, in order', () => {
    const owners = {
      subscriber: ownerOf([moneyOf(5), bucketOf({ id: 2, priority: 9, toMs: 100 })]),
      account: ownerOf([bucketOf({ id: 3, priority: 5 })], { sid: 0 }),
    }
    const catalogue = catalogueOf([], [])
    const next = startOf(tariffFrom('1/1'))
    const request = { usaget: 'data', used: 3, requested: 7, end: 'closed', exact: true } as const
    const program = (atMs: number) =>
      buildProgram(catalogue, owners, null, next, { ...request, atMs })
    const payer = (owner: 0 | 1, id: number) => ({ owner, id, isGroup: false, limitCounter: null })
    expect(program(99)).toEqual({
      used: 3,
      requested: 7,
      exact: true,
      next,
      atMs: 99,
      end: 'closed',
      order: [],
      nextOrder: [payer(0, 2), payer(1, 3), payer(0, 1)],
    })
    expect(program(100).nextOrder).toEqual([payer(1, 3), payer(0, 1)])
  })

  it.each([
    ['no bucket if only reserved units are used', { used: 3, reservedUnits: 3 }, []],
    ['a bucket for one unit beyond the reserved ones', { used: 4, reservedUnits: 3 }, [1]],
    ['a bucket for all units if none are reserved', { used: 1 }, [1]],
  ])('names %s', (_what, use, ids) => {
    const owners = { subscriber: ownerOf([moneyOf(5)]), account: null }
    const start = startOf(tariffFrom('1/1'))
    const segment = startedService(
      emptyService(serviceIdentity({ usaget: 'data' })),
      start,
      0,
    ).segment
    const rest = { usaget: 'data', requested: 0, atMs: 1, end: 'none', exact: false } as const
    const catalogue = catalogueOf([], [])
    const { order } = buildProgram(catalogue, owners, segment, null, { ...rest, ...use })
    expect(order.map(({ id }) => id)).toEqual(ids)
  })
})
