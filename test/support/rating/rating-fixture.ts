/** A subscriber, a catalogue and a network element, with scenarios written as text tables. */
import { expect } from 'vitest'
import { assertConserved, type Bucket, type OwnerState } from '../../../src/domain/bucket.ts'
import type { Catalogue, PrepaidInclude, SubscriberProfile } from '../../../src/domain/catalogue.ts'
import type { ChargeOutcome } from '../../../src/domain/charge-outcome.ts'
import type {
  ChargeRequest,
  RequestKind,
  ServiceRequest,
} from '../../../src/domain/charge-request.ts'
import { credit } from '../../../src/domain/credit.ts'
import { digestOf } from '../../../src/domain/digest.ts'
import type { BalanceRuleSet } from '../../../src/domain/events/rule-set.ts'
import { expireSession } from '../../../src/domain/expire.ts'
import type { Line } from '../../../src/domain/line.ts'
import { lineOf, serviceTagOf } from '../../../src/domain/lines.ts'
import type { Session } from '../../../src/domain/session.ts'
import { chargeSession } from '../../../src/rating/charge-session.ts'
import type { ChargeDecision } from '../../../src/rating/decision.ts'
import { frozen } from '../domain/frozen.ts'
import { bucketOf, moneyOf, ownerOf } from '../domain/owners.ts'
import { requestOf, serviceRequest } from '../domain/requests.ts'
import { readTable } from '../domain/table.ts'
import { catalogueOf, contextOf, planOf, profileOf, rateOf } from './catalogue.ts'

/** The start of every scenario: 1 July 2026 in UTC, cycle 202608. */
export const START_MS = Date.UTC(2026, 6, 1)
const DAY_MS = 86_400_000
const ALWAYS = { fromMs: 0, toMs: START_MS + 1000 * DAY_MS }

export const SETTINGS = {
  validityMs: 3_600_000,
  graceMs: 60_000,
  replayMs: 600_000,
  refundMicrosMax: 1000,
  refundUnitsMax: 500,
  clockDifferenceMs: 300_000,
}

/** Prices in micros: data 2 per 10, a call 10 per begun minute and 5 once, an SMS 3. */
export const RATES = [
  rateOf('DATA', 'data', '2/10', ALWAYS),
  rateOf('CALL', 'call', '10/60+5', ALWAYS),
  rateOf('SMS', 'sms', '3/1', ALWAYS),
]
export const PLANS = [planOf('PREPAID', { ...ALWAYS, disallowedRates: new Set(['MMS']) })]

type Named = Record<string, { slot: 0 | 1; bucket: Bucket }>

/** 200 units of data, then 50 micros, then 100 units of data that the account shares. */
export function usualBuckets(): Named {
  const { toMs } = ALWAYS
  return {
    PACK: { slot: 0, bucket: bucketOf({ credited: 200, priority: 50, toMs }) },
    MONEY: { slot: 0, bucket: moneyOf(50, { id: 2, prepaidIncludeId: 2, priority: 40, toMs }) },
    SHARED: { slot: 1, bucket: bucketOf({ prepaidIncludeId: 3, priority: 10, toMs }) },
  }
}

export class RatingFixture {
  subscriber: OwnerState
  account: OwnerState
  catalogue: Catalogue = catalogueOf(RATES, PLANS)
  profile: SubscriberProfile | null = profileOf(ALWAYS)
  /** `rate_calculators`. */
  calculators: object = {}
  nowMs = START_MS
  actionRules: BalanceRuleSet | null = null
  isFreeNumber = (_calledNumber: string): boolean => false
  readonly sessions = new Map<string, Session>()
  /** Every committed line, in order. */
  readonly lines: Line[] = []
  readonly #names: Named

  constructor(names: Named = usualBuckets()) {
    this.#names = names
    const of = (slot: 0 | 1) =>
      Object.values(names).flatMap((named) => (named.slot === slot ? [{ ...named.bucket }] : []))
    this.subscriber = ownerOf(of(0))
    this.account = ownerOf(of(1), { sid: 0 })
  }

  /** Decides without committing. */
  decide(more: Partial<ChargeRequest>): ChargeDecision {
    const request = requestOf({ eventTimeMs: this.nowMs, ...more })
    const { subscriber, account, catalogue, profile, nowMs } = this
    const session = this.sessions.get(request.sessionId) ?? null
    return chargeSession(
      frozen({ subscriber, account, session }),
      { request, sessionKey: request.sessionId, digest: digestOf(request) },
      {
        ...contextOf(catalogue, this.calculators),
        isFreeNumber: this.isFreeNumber,
        actionRules: this.actionRules,
        profile,
        nowMs,
        settings: SETTINGS,
      },
    )
  }

  send(more: Partial<ChargeRequest>): ChargeOutcome {
    const { outcome, commit } = this.decide(more)
    if (commit === null) return outcome
    const before = this.sessions.get(commit.session.identity.sessionId) ?? null
    this.subscriber = commit.subscriber
    this.account = commit.account!
    this.sessions.set(commit.session.identity.sessionId, commit.session)
    this.lines.push(...commit.lines, ...grownLines(before, commit.session))
    assertConserved(this.subscriber)
    assertConserved(this.account)
    return outcome
  }

  /** Expires an open session like the sweep. */
  expire(sessionId: string): void {
    const session = this.sessions.get(sessionId)
    if (session?.state !== 'open') return
    const { subscriber, account, nowMs } = this
    const expiring = { subscriber, account, session, sessionKey: sessionId }
    const expired = expireSession(expiring, nowMs, SETTINGS.replayMs)
    this.subscriber = expired.subscriber
    this.account = expired.account
    this.sessions.set(sessionId, expired.session)
    this.lines.push(...expired.lines)
  }

  topUp(name: string, amount: number): void {
    const { slot, bucket } = this.#names[name]!
    const { prepaidIncludeId: externalId, kind, usaget, priority } = bucket
    const include = { externalId, kind, usaget, priority } as PrepaidInclude
    const { fromMs, toMs } = ALWAYS
    const operation = { include, amount, fromMs, toMs, mode: 'inc' as const }
    if (slot === 0) this.subscriber = credit(this.subscriber, operation, this.nowMs).owner
    else this.account = credit(this.account, operation, this.nowMs).owner
  }

  bucket(name: string): Bucket {
    const { slot, bucket } = this.#names[name]!
    const owner = slot === 0 ? this.subscriber : this.account
    return owner.buckets.find(({ id }) => id === bucket.id)!
  }

  /**
   * Runs a table. A row is a service of a request; without a request it belongs to the row before.
   * `asks` and `used` in units; `answer` is the reason, `units` the grant, `*` if it is the last; a
   * column of a bucket is `available+reserved`, or `available` if nothing is reserved.
   */
  play(text: string): void {
    const groups: Record<string, string>[][] = []
    for (const row of readTable(text)) {
      if (row['request'] === '') groups.at(-1)!.push(row)
      else groups.push([row])
    }
    for (const rows of groups) this.#act(rows)
  }

  #act(rows: Record<string, string>[]): void {
    const action = rows[0]!['request']!
    const [verb = '', what = '', amount] = action.split(' ')
    if (verb === 'top-up') this.topUp(what, Number(amount))
    else if (verb === 'expire') this.expire('s')
    else if (verb === 'wait') this.nowMs += Number(what) * DAY_MS
    else {
      const named = rows.filter((row) => row['service'] !== '')
      const { services } = this.send({
        kind: verb as RequestKind,
        requestNumber: Number(what),
        services: named.map(serviceFrom),
      })
      const answers = services.map(({ reason, granted, finalUnit }) => ({
        answer: reason,
        units: finalUnit ? `${granted} *` : `${granted}`,
      }))
      const expected = named.map(({ answer, units }) => ({ answer, units }))
      expect(answers, action).toEqual(expected)
    }
    this.#check(action, rows.at(-1)!)
  }

  #check(action: string, row: Record<string, string>): void {
    const columns = Object.keys(row).filter((name) => name in this.#names)
    const amounts = (name: string) => {
      const { free, reserved } = this.bucket(name)
      return reserved === 0 ? `${free}` : `${free}+${reserved}`
    }
    const shown = Object.fromEntries(columns.map((name) => [name, amounts(name)]))
    const expected = Object.fromEntries(columns.map((name) => [name, row[name]]))
    expect(shown, action).toEqual(expected)
    if (row['debt'] === undefined) return
    expect(this.subscriber.owed - this.subscriber.repaid, `debt after ${action}`).toBe(
      Number(row['debt']),
    )
  }
}

/** Lines of changed open segments: derived from the session, like in the recorder. */
function grownLines(before: Session | null, session: Session): Line[] {
  if (session.state !== 'open') return []
  return session.services.flatMap((service, index) => {
    const { segment } = service
    const known = before?.services[index]?.segment ?? null
    if (segment === null || segment.counts.used === 0) return []
    if (segment.number === known?.number && segment.version === known.version) return []
    const tag = serviceTagOf(session.identity.sessionId, session, index)
    return [lineOf(session, service, { segment, state: 'open' }, tag)]
  })
}

function serviceFrom(row: Record<string, string>): ServiceRequest {
  return serviceRequest({
    usaget: row['service']!,
    used: Number(row['used']),
    requested: row['asks'] === '' ? -1 : Number(row['asks']),
  })
}
