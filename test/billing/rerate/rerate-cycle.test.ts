import { describe, expect, it } from 'vitest'
import { rerateCycle } from '../../../src/billing/rerate/rerate-cycle.ts'
import {
  lineDocument,
  type RealtimeLineDocument,
} from '../../../src/catalog/records/usage/line-document.ts'
import type { SubscriberProfile } from '../../../src/domain/catalogue.ts'
import { completed, rerateInput } from '../../support/billing/rerate-input.ts'
import { serviceRequest } from '../../support/domain/requests.ts'
import {
  catalogueOf,
  contextOf,
  planOf,
  profileOf,
  rateOf,
} from '../../support/rating/catalogue.ts'
import { RatingFixture, SETTINGS, START_MS } from '../../support/rating/rating-fixture.ts'

const ALWAYS = { fromMs: 0, toMs: START_MS + 1e10 }
const GROUP = {
  name: 'G',
  kind: 'units' as const,
  total: 150,
  usagets: new Set<string>(),
  rates: 'all' as const,
  sharing: 'none' as const,
  isPerQuantity: false,
}
const PROFILE = profileOf({ ...ALWAYS, plan: 'PLAN' })
const plan = (more: object = {}) =>
  planOf('PLAN', { ...ALWAYS, connectionType: 'postpaid', groups: [GROUP], ...more })
const RATE = rateOf('DATA', 'data', '2/10', ALWAYS)

/** Sessions of 100 units, each a minute after the one before. */
function linesOf(count: number): RealtimeLineDocument[] {
  const scene = new RatingFixture({})
  scene.catalogue = catalogueOf([RATE], [plan()])
  scene.profile = PROFILE
  for (let index = 0; index < count; index += 1) {
    scene.nowMs = START_MS + index * 60_000
    const services = [serviceRequest({ used: 100 })]
    scene.send({ kind: 'event', isRecord: true, sessionId: `s${index}`, services })
  }
  return scene.lines.map(lineDocument)
}

function rerated(
  lines: readonly RealtimeLineDocument[],
  catalogue = catalogueOf([RATE], [plan()]),
  profile: SubscriberProfile | Error | null = PROFILE,
  calculators: object = {},
) {
  const rules = { ...contextOf(catalogue, calculators), settings: SETTINGS, actionRules: null }
  const inputs = lines.map((line) => rerateInput(line, profile))
  return completed(rerateCycle(inputs, '202608', rules))
}

/** The lines, each lasting until a minute after the begin of the next one. */
const overlapping = (lines: readonly RealtimeLineDocument[]) =>
  lines.map((line) => ({ ...line, last_urt: new Date(line.urt.getTime() + 120_000) }))

describe('refused is', () => {
  const [line] = linesOf(1) as [RealtimeLineDocument]
  const bucket = { owner: 'subscriber' as const, bucket_id: 1, pp_includes_external_id: 4 }
  const tax = { key: 'VAT', rate: 0.2, description: '', isEmbedded: false, id: 'VAT', ...ALWAYS }
  const midway = START_MS + 30_000
  const atNext = [
    rateOf('DATA', 'data', '2/10', { ...ALWAYS, toMs: midway }),
    rateOf('DATA', 'data', '3/10', { ...ALWAYS, id: 'DATA@1', fromMs: midway }),
  ]
  it.each([
    ['an open session', 'open', { ...line, state: 'open' as const }],
    ['a refund', 'refund', { ...line, usagev: -1 }],
    ['a payment by a balance', 'prepaid', { ...line, payments: [bucket] }],
    ['debt', 'prepaid', { ...line, debt_micros: 1 }],
    [
      'a plan that is prepaid now',
      'prepaid',
      line,
      [plan({ connectionType: 'prepaid', groups: [] })],
    ],
    ['a later segment', 'continued', { ...line, stamp: 's-1-2' }],
    ['a price without usage', 'charged', { ...line, usagev: 0, aprice_micros: 5 }],
    ['a line of another cycle', 'cycle', { ...line, urt: new Date(START_MS + 32 * 86_400_000) }],
    ['a rate that does not exist', 'noRate', { ...line, arate_key: 'NONE' }],
    [
      'a rate that the plan blocks',
      'blocked',
      line,
      [plan({ disallowedRates: new Set(['DATA']) })],
    ],
    ['a change of price while it lasts', 'boundary', ...longWith(line)],
  ])('%s', (_, reason, one, plans = [plan()], rates = [RATE]) => {
    const { lines, refused } = rerated([one], catalogueOf(rates, [...plans]))
    expect(refused).toMatchObject([{ stamp: one.stamp, reason }])
    expect(lines).toEqual([])
  })

  function longWith(of: RealtimeLineDocument) {
    return [{ ...of, last_urt: new Date(START_MS + 60_000) }, [plan()], atNext] as const
  }

  it('a tax where there was none', () => {
    const rules = {
      ...contextOf(catalogueOf([RATE], [plan()], [], [tax as never])),
      defaultTax: 'VAT',
      settings: SETTINGS,
      actionRules: null,
    }
    const { refused } = completed(rerateCycle([rerateInput(line, PROFILE)], '202608', rules))
    expect(refused).toMatchObject([{ reason: 'taxes' }])
  })

  it.each([
    ['does not exist', 'noSubscriber', null],
    ['is in another account', 'account', { ...PROFILE, aid: 2 }],
    ['cannot be read', 'invalidSubscriber', new Error('services is not a list')],
  ])('a line whose subscriber %s', (_, reason, profile) => {
    expect(rerated([line], undefined, profile).refused).toMatchObject([
      { reason, text: expect.stringContaining(profile instanceof Error ? 'services' : 'its') },
    ])
  })

  it('a usage type with prices of further categories, today or when it was charged', () => {
    const [rate] = line.rates
    const then = { ...line, rates: [rate, { ...rate, tariff_category: 'wholesale' }] as never }
    const filters = [{ type: 'match', rate_key: 'usaget', line_key: 'usaget' }]
    const calculators = { wholesale: { data: { priorities: [{ filters }] } } }
    const refusedOf = (one: RealtimeLineDocument, more: object) =>
      rerated([one], undefined, PROFILE, more).refused
    expect(refusedOf(line, {})).toEqual([])
    expect(refusedOf(line, calculators)).toMatchObject([{ reason: 'categories' }])
    expect(refusedOf(then, {})).toMatchObject([{ reason: 'categories' }])
  })

  it('a line that lasts longer than its pool has these members', () => {
    const long = { ...line, last_urt: new Date(START_MS + 60_000) }
    const rules = { ...contextOf(catalogueOf([RATE], [plan()])), settings: SETTINGS }
    const inputOf = (untilMs: number) => [{ line: long, profile: { ...PROFILE, untilMs } }]
    const refusedOf = (untilMs: number) =>
      completed(rerateCycle(inputOf(untilMs), '202608', { ...rules, actionRules: null })).refused
    expect(refusedOf(START_MS + 30_000)).toMatchObject([{ reason: 'boundary' }])
    expect(refusedOf(START_MS + 60_000)).toEqual([])
  })

  it.each([
    ['before the cycle', -1],
    ['within it, and ends after it', 0],
  ])('units of a service whose period began %s', (_, days) => {
    const groups = [{ ...GROUP, name: 'W' }]
    const period = { months: 2, days: 0, hours: 0, untilMidnight: false }
    const service = { id: 'S@0', name: 'S', prices: new Map(), facts: {}, limitMonths: null }
    const catalogue = catalogueOf(
      [RATE],
      [plan({ groups: [] })],
      [{ ...service, ...ALWAYS, groups, period }],
    )
    const begun = { fromMs: START_MS + days * 86_400_000, toMs: ALWAYS.toMs }
    const profile = {
      ...PROFILE,
      services: [{ name: 'S', serviceId: 1, quantity: 1, ...begun }],
    }
    expect(rerated([line], catalogue, profile).refused).toMatchObject([{ reason: 'period' }])
  })
})

describe('the order of late lines', () => {
  // 100, 50 of 100, and 0 of 100 units are included; charged in this order.
  const [first, second, third] = linesOf(3) as [
    RealtimeLineDocument,
    RealtimeLineDocument,
    RealtimeLineDocument,
  ]
  const at = (line: RealtimeLineDocument, minute: number) => {
    const urt = new Date(START_MS + minute * 60_000)
    return { ...line, urt, last_urt: urt }
  }

  it('matters if usage was charged beyond included units before usage within them', () => {
    const { refused } = rerated([at(third, 1), at(first, 2), at(second, 3)])
    expect(refused).toMatchObject([
      { stamp: first.stamp, reason: 'order' },
      { stamp: second.stamp, reason: 'order' },
    ])
  })

  it('does not if more units are included since then', () => {
    const more = (line: RealtimeLineDocument) => ({
      ...line,
      arategroups: line.arategroups.map((group) => ({ ...group, total: 300 })),
    })
    const lines = [at(first, 1), at(third, 2), at(more(second), 3)]
    expect(rerated(lines).refused).toEqual([])
  })
})

describe('a line whose record had its price', () => {
  it('stays as it is, whoever has paid it and whatever the catalogue says', () => {
    const [line, other] = linesOf(2) as [RealtimeLineDocument, RealtimeLineDocument]
    const priced = { ...line, prepriced: true, debt_micros: 1, arate_key: 'NONE' }
    const { lines, refused } = rerated([priced, other])
    expect(refused).toEqual([])
    expect(lines[0]?.after).toBe(priced)
    // It has used no included units.
    expect(lines[1]?.after.in_group).toBe(100)
  })
})

describe('the order of overlapping lines', () => {
  it('is refused where included units run out', () => {
    const lines = overlapping(linesOf(2))
    expect(rerated(lines).refused).toMatchObject([{ stamp: lines[1]?.stamp, reason: 'order' }])
  })

  it('does not matter while there are enough, or where there are none', () => {
    const lines = overlapping(linesOf(2))
    const enough = plan({ groups: [{ ...GROUP, total: 200 }] })
    expect(rerated(lines, catalogueOf([RATE], [enough])).refused).toEqual([])
    expect(rerated(lines, catalogueOf([RATE], [plan({ groups: [] })])).refused).toEqual([])
  })

  it('is that of the begins for lines one after the other', () => {
    const { lines } = rerated(linesOf(3).toReversed())
    expect(lines.map(({ after }) => after.aprice_micros)).toEqual([0, 10, 20])
  })
})
