import { describe, expect, it } from 'vitest'
import { cycleAt } from '../../src/domain/cycle.ts'
import { emptyService } from '../../src/domain/settle.ts'
import { compileRateKey } from '../../src/rating/match.ts'
import {
  buildProgram,
  needsRating,
  type RatedService,
  type RatingContext,
  rateService,
} from '../../src/rating/program.ts'
import { bucketOf, moneyOf, ownerOf } from '../domain/owners.ts'
import { serviceRequest } from '../domain/requests.ts'
import { catalogueOf, planOf, profileOf, rateOf, tariffFrom } from './catalogue.ts'

const JULY = Date.UTC(2026, 6, 1)
const AUGUST = Date.UTC(2026, 7, 1)
const HOUR = 3_600_000
const FAR = Date.UTC(2100, 0)

function contextOf(rateToMs = FAR, planToMs = FAR): RatingContext {
  return {
    catalogue: catalogueOf(
      [rateOf('DATA', 'data', '1/1', { toMs: rateToMs })],
      [planOf('PREPAID', { toMs: planToMs })],
    ),
    rateKeys: [compileRateKey('{USAGET}')],
    cycleAt: (atMs) => cycleAt(atMs, 'UTC', 1),
  }
}

const DATA = { ratingGroup: -1, usaget: 'data' }
const FREE_PROFILE = profileOf({ toMs: FAR })

describe('rating a service', () => {
  it('names all that pricing depends on', () => {
    expect(rateService(contextOf(), FREE_PROFILE, DATA, JULY)).toEqual({
      start: {
        ...{ key: 'DATA@0|PREPAID|202608', rateKey: 'DATA', plan: 'PREPAID', cycle: '202608' },
        tariff: tariffFrom('1/1'),
      },
      untilMs: AUGUST,
    })
  })

  it.each([
    ['rate revision', contextOf(JULY + HOUR), FREE_PROFILE],
    ['plan revision', contextOf(FAR, JULY + HOUR), FREE_PROFILE],
    ['subscriber revision', contextOf(), profileOf({ toMs: JULY + HOUR })],
  ])('holds until the end of the %s', (_what, context, profile) => {
    const rated = rateService(context, profile, DATA, JULY) as RatedService
    expect(rated.untilMs).toBe(JULY + HOUR)
  })

  it('has another key in another cycle', () => {
    const keys = [AUGUST - 1, AUGUST].map(
      (atMs) => (rateService(contextOf(), FREE_PROFILE, DATA, atMs) as RatedService).start.key,
    )
    expect(new Set(keys).size).toBe(2)
  })

  it.each([
    ['barred', profileOf({ barred: true }), DATA],
    ['unknownSubscriber', profileOf({ plan: 'NO_SUCH_PLAN' }), DATA],
    ['noRate', FREE_PROFILE, { ratingGroup: -1, usaget: 'fax' }],
  ])('says why it cannot be: %s', (reason, profile, service) => {
    expect(rateService(contextOf(), profile, service, JULY)).toBe(reason)
  })

  it('says that the plan has no revision then', () => {
    expect(rateService(contextOf(FAR, JULY), FREE_PROFILE, DATA, JULY)).toBe('unknownSubscriber')
  })
})

describe('the catalogue', () => {
  const idle = emptyService(-1, 'data', '')
  const segment = { key: 'k' } as NonNullable<typeof idle.segment>
  const held = { units: 1, slices: [{ bucket: null, units: 1 }], money: [] }
  it.each([
    ['units are asked for', { requested: 1 }, idle, true],
    ['units are asked for on top', { requested: 1 }, { ...idle, segment }, true],
    ['something new is used', { used: 1 }, idle, true],
    ['what was granted is used', { used: 1 }, { ...idle, segment, reservation: held }, false],
    ['more is used than was granted, and nothing is held', { used: 1 }, { ...idle, segment }, true],
    ['nothing happens', {}, idle, false],
    ['zero units are asked for', { requested: 0 }, idle, false],
  ])('is needed if %s', (_what, request, service, needed) => {
    expect(needsRating(serviceRequest(request), service, false)).toBe(needed)
  })

  it('is not needed for late usage of a service whose price the session kept', () => {
    const used = serviceRequest({ used: 1 })
    expect(needsRating(used, { ...idle, segment }, true)).toBe(false)
    expect(needsRating(used, idle, true)).toBe(true)
  })
})

describe('a charge program', () => {
  it('has the buckets that may pay at the event time, in order', () => {
    const owners = {
      subscriber: ownerOf([moneyOf(5), bucketOf({ id: 2, priority: 9, toMs: 100 })]),
      account: ownerOf([bucketOf({ id: 3, priority: 5 })], { sid: 0 }),
    }
    const request = { usaget: 'data', used: 3, requested: 7 }
    const program = (atMs: number) => buildProgram(owners, request, null, atMs, 'closed', true)
    expect(program(99)).toEqual({
      ...{ used: 3, requested: 7, exact: true, next: null, atMs: 99, end: 'closed' },
      order: [
        { owner: 0, id: 2 },
        { owner: 1, id: 3 },
        { owner: 0, id: 1 },
      ],
    })
    expect(program(100).order).toEqual([
      { owner: 1, id: 3 },
      { owner: 0, id: 1 },
    ])
  })
})
