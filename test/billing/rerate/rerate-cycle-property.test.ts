import fc from 'fast-check'
import { expect, it } from 'vitest'
import { rerateCycle } from '../../../src/billing/rerate/rerate-cycle.ts'
import {
  lineDocument,
  type RealtimeLineDocument,
} from '../../../src/catalog/records/usage/line-document.ts'
import { emptyOwner, type OwnerState } from '../../../src/domain/bucket.ts'
import type { Catalogue } from '../../../src/domain/catalogue.ts'
import { completed, rerateInput } from '../../support/billing/rerate-input.ts'
import { propertyRuns } from '../../support/domain/property-runs.ts'
import { serviceRequest } from '../../support/domain/requests.ts'
import {
  catalogueOf,
  contextOf,
  planOf,
  profileOf,
  rateOf,
} from '../../support/rating/catalogue.ts'
import { RatingFixture, SETTINGS, START_MS } from '../../support/rating/rating-fixture.ts'

const SIDS = [7, 8] as const
const CYCLE = '202608'
const ALWAYS = { fromMs: 0, toMs: START_MS + 1e10 }

interface Price {
  price: number
  interval: number
  access: number
}
interface Offer {
  data: Price
  call: Price
  /** Units of data that the plan includes. */
  included: number
  isShared: boolean
}
interface Use {
  sid: (typeof SIDS)[number]
  usaget: 'data' | 'call'
  /** Units of each report; one is reported as an event. */
  reports: number[]
}

const price = fc.record({
  price: fc.integer({ min: 0, max: 1000 }),
  interval: fc.integer({ min: 1, max: 60 }),
  access: fc.integer({ min: 0, max: 50 }),
})
const offer: fc.Arbitrary<Offer> = fc.record({
  data: price,
  call: price,
  included: fc.integer({ min: 1, max: 2000 }),
  isShared: fc.boolean(),
})
const use: fc.Arbitrary<Use> = fc.record({
  sid: fc.constantFrom(...SIDS),
  usaget: fc.constantFrom('data', 'call'),
  reports: fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 4 }),
})

const profile = (sid: number) => profileOf({ ...ALWAYS, sid, plan: 'PLAN' })

function catalogue({ data, call, included, isShared }: Offer): Catalogue {
  const text = (one: Price) => `${one.price}/${one.interval}+${one.access}`
  const group = {
    name: 'G',
    kind: 'units' as const,
    total: included,
    usagets: new Set(['data']),
    rates: 'all' as const,
    sharing: isShared ? ('shared' as const) : ('none' as const),
    isPerQuantity: false,
  }
  return catalogueOf(
    [rateOf('DATA', 'data', text(data), ALWAYS), rateOf('CALL', 'call', text(call), ALWAYS)],
    [planOf('PLAN', { ...ALWAYS, connectionType: 'postpaid', groups: [group] })],
  )
}

/** Charges the usage, one session after the other, with grants and reports as in operation. */
function charged(offered: Offer, uses: readonly Use[]): RealtimeLineDocument[] {
  const scene = new RatingFixture({})
  scene.catalogue = catalogue(offered)
  const owners = new Map<number, OwnerState>()
  for (const [index, { sid, usaget, reports }] of uses.entries()) {
    scene.subscriber = owners.get(sid) ?? emptyOwner(1, sid)
    scene.profile = profile(sid)
    const sessionId = `s${index}`
    const send = (
      kind: 'event' | 'start' | 'update' | 'release',
      volumes: object,
      number: number,
    ) => {
      scene.nowMs += 1000
      const services = [serviceRequest({ usaget, ...volumes })]
      scene.send({ kind, sessionId, requestNumber: number, services })
    }
    if (reports.length === 1) send('event', { used: 0, requested: reports[0] }, 0)
    else {
      send('start', { requested: 100 }, 0)
      for (const [each, used] of reports.entries()) {
        const isLast = each === reports.length - 1
        if (isLast) send('release', { used }, each + 1)
        else send('update', { used, requested: 100 }, each + 1)
      }
    }
    owners.set(sid, scene.subscriber)
  }
  const newest = new Map(scene.lines.map((line) => [line.stamp, lineDocument(line)]))
  return [...newest.values()]
}

function rerated(lines: readonly RealtimeLineDocument[], offered: Offer) {
  const rules = { ...contextOf(catalogue(offered)), settings: SETTINGS, actionRules: null }
  const inputs = lines.map((line) => rerateInput(line, profile(line.sid)))
  return completed(rerateCycle(inputs.toReversed(), CYCLE, rules))
}

/** Prices in micros by arithmetic alone: an interval that has begun is paid for. */
function modelled(uses: readonly Use[], offered: Offer): number[] {
  const left = new Map<number, number>()
  return uses.map(({ sid, usaget, reports }) => {
    const used = reports.reduce((sum, units) => sum + units, 0)
    const holder = offered.isShared ? 0 : sid
    const free = usaget === 'data' ? (left.get(holder) ?? offered.included) : 0
    const within = Math.min(free, used)
    if (usaget === 'data') left.set(holder, free - within)
    const { price: micros, interval, access } = offered[usaget]
    const beyond = used - within
    return beyond === 0 ? 0 : access + Math.ceil(beyond / interval) * micros
  })
}

it('has the prices of a model, and those of charging the same usage by this catalogue', () => {
  fc.assert(
    fc.property(offer, offer, fc.array(use, { maxLength: 12 }), (before, after, uses) => {
      const lines = charged(before, uses)
      const { lines: repriced, refused } = rerated(lines, after)
      expect(refused).toEqual([])
      const micros = repriced.map((line) => line.after.aprice_micros)
      expect(micros).toEqual(modelled(uses, after))
      const again = charged(after, uses)
      const pricing = (line: RealtimeLineDocument) => ({ ...line, v: 0, origin: '', last_urt: 0 })
      expect(repriced.map((line) => pricing(line.after))).toEqual(
        again.map((line, index) => pricing({ ...line, stamp: lines[index]!.stamp })),
      )
    }),
    propertyRuns(300),
  )
})

it('changes nothing without a change of the catalogue', () => {
  fc.assert(
    fc.property(offer, fc.array(use, { maxLength: 12 }), (offered, uses) => {
      const { lines } = rerated(charged(offered, uses), offered)
      for (const { before, after } of lines) {
        expect([after.aprice_micros, after.in_group, after.final_charge]).toEqual([
          before.aprice_micros,
          before.in_group,
          before.final_charge,
        ])
      }
    }),
    propertyRuns(300),
  )
})
