/** A call around noon, of a subscriber whose terms change then. */
import type { Catalogue, SubscriberProfile } from '../../../src/domain/catalogue.ts'
import type { RequestKind, ServiceRequest } from '../../../src/domain/charge-request.ts'
import type { Line } from '../../../src/domain/line.ts'
import { moneyOf } from '../domain/owners.ts'
import { serviceRequest } from '../domain/requests.ts'
import { planOf, profileOf, rateOf } from './catalogue.ts'
import { groupOf } from './offers.ts'
import { RatingFixture, START_MS } from './rating-fixture.ts'

export const MINUTE = 60_000
export const NOON = START_MS + 12 * 60 * MINUTE
export const FAR = { fromMs: 0, toMs: 1e15 }
export const BEFORE = { fromMs: 0, toMs: NOON }
export const AFTER = { fromMs: NOON, toMs: 1e15 }
export const POSTPAID = { connectionType: 'postpaid' as const }

/** A rate with a price per second, in micros. */
export const flat = (price: number, more = {}) => rateOf('CALL', 'call', `${price}/1`, more)
/** The price per second of one, and of three after five past noon. */
export const LATER = NOON + 5 * MINUTE
export const changingLater = () => [
  flat(1, { ...FAR, toMs: LATER, id: 'CALL@1' }),
  flat(3, { ...FAR, fromMs: LATER, id: 'CALL@2' }),
]
/** A postpaid plan. */
export const plan = (more = {}) => planOf('PREPAID', { ...FAR, ...POSTPAID, ...more })
export const group = (total: number) => [groupOf('G', total, { usagets: new Set(['call']) })]

/** Summary of ungranted usage whose price is three from noon on. */
export const SPLIT_AT_NOON = [
  [610, 0, 610, ''],
  [600, 0, 1800, ''],
]

export interface Terms {
  catalogue: Catalogue
  profile?: Partial<SubscriberProfile>
}

export class Call {
  readonly scene: RatingFixture

  constructor({ catalogue, profile }: Terms, credit = 0) {
    const money = { slot: 0 as const, bucket: moneyOf(credit, { toMs: FAR.toMs }) }
    this.scene = new RatingFixture({ MONEY: money })
    this.scene.catalogue = catalogue
    this.scene.profile = profileOf({ ...FAR, ...profile })
  }

  send(kind: RequestKind, minutes: number, more: Partial<ServiceRequest>) {
    this.scene.nowMs = NOON + minutes * MINUTE
    const requestNumber = this.scene.sessions.get('s')?.processed ?? 0
    const services = [serviceRequest({ usaget: 'call', ...more })]
    return this.scene.send({ kind, requestNumber, sessionId: 's', services }).services[0]
  }

  /** Ten units, twenty minutes without a report around noon, and then 1200; none is granted. */
  useUngranted(change = () => {}, calledNumber = ''): void {
    this.send('start', -20, { calledNumber })
    this.send('update', -10, { used: 10, calledNumber })
    change()
    this.send('release', 10, { used: 1200, calledNumber })
  }

  /** Units, units in groups, price and tax of the newest version of each line. */
  summary(): (string | number)[][] {
    const lines = [...new Map(this.scene.lines.map((line) => [line.stamp, line])).values()]
    return lines.map(({ pricing: { taxes }, counts: { used, includedUnits, charged } }: Line) => [
      used,
      includedUnits,
      charged,
      taxes.map(({ rate }) => rate).join(),
    ])
  }
}
