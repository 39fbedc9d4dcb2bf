/** Events, and refunds of them or without an event. */
import type {
  PlanRevision,
  RateRevision,
  SubscriberProfile,
} from '../../../src/domain/catalogue.ts'
import type { ServiceRequest } from '../../../src/domain/charge-request.ts'
import { explain } from '../../../src/domain/explain.ts'
import type { Line } from '../../../src/domain/line.ts'
import type { Tariff } from '../../../src/domain/tariff.ts'
import { moneyOf } from '../domain/owners.ts'
import { serviceRequest } from '../domain/requests.ts'
import { catalogueOf, planOf, profileOf, rateOf } from './catalogue.ts'
import { RatingFixture } from './rating-fixture.ts'

export const FAR = { fromMs: 0, toMs: 1e15 }
const RATES = [
  rateOf('SMS', 'sms', '3/1', FAR),
  rateOf('CALL', 'call', '10/60+5', FAR),
  rateOf('FREE', 'free', '0/1', FAR),
]
type Buckets = ConstructorParameters<typeof RatingFixture>[0]
export const money = (micros: number, more = {}) => moneyOf(micros, { toMs: FAR.toMs, ...more })
export const WITH_MONEY: Buckets = { MONEY: { slot: 0, bucket: money(100) } }

interface SetUp {
  buckets?: Buckets
  plan?: Partial<PlanRevision>
  rates?: RateRevision[]
  profile?: Partial<SubscriberProfile>
}

export function sceneOf({
  buckets = WITH_MONEY,
  plan = {},
  rates = RATES,
  profile = {},
}: SetUp = {}) {
  const scene = new RatingFixture(buckets)
  scene.catalogue = catalogueOf(rates, [planOf('PREPAID', { ...FAR, ...plan })])
  scene.profile = profileOf({ ...FAR, ...profile })
  let number = 0
  const send = (refund: boolean, services: ServiceRequest[], more = {}) => {
    number += 1
    return scene.send({ kind: 'event', requestNumber: number, refund, services, ...more })
  }
  const units = (usaget: string, requested: number, ratingGroup = -1) =>
    serviceRequest({ usaget, requested, ratingGroup })
  return {
    scene,
    take: (usaget: string, count: number) => send(false, [units(usaget, count)]),
    takeAll: (...services: ServiceRequest[]) => send(false, services),
    back: (usaget: string, count: number, ratingGroup = -1) =>
      send(true, [units(usaget, count, ratingGroup)]),
    /** A refund with a session id of its own. */
    backAlone: (usaget: string, count: number) =>
      send(true, [units(usaget, count)], { sessionId: 'alone' }),
    backAll: (...services: ServiceRequest[]) => send(true, services),
    units,
    free: (name = 'MONEY') => scene.bucket(name).free,
  }
}

/** The rate of data with a tariff that is not written as a text. */
export function dataRate(tariff: Tariff): RateRevision {
  const usages = new Map([['data', { base: { tariff, bands: [] }, plans: new Map() }]])
  return { ...rateOf('DATA', 'data', null, FAR), usages }
}

/** The sum of the steps of a line, in micros. */
export function explained(line: Line): number {
  const steps = explain(line)
  const prices = steps.flatMap((step) =>
    step.step === 'price' && step.part === 'charge' ? [Number(step.amount) * 1e6] : [],
  )
  return Math.round(prices.reduce((sum, price) => sum + price, 0))
}
