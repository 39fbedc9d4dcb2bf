/**
 * Checks of lines and balances by independent arithmetic. Accesses no store: it
 * receives the lines, the acknowledged usage and the states, and collects the differences.
 */
import type { Bucket } from '../../../src/domain/bucket.ts'
import type { OperationLine } from '../../../src/domain/line.ts'
import type { LoadedOwner } from '../../../src/ledger/ledger.ts'
import { type CreditTruth, counterDifferences } from './counter-check.ts'
import { expectedOf, type ServiceTruth, type SessionTruth } from './expected-sessions.ts'
import { type LineView, lineDifferences, priceAt } from './line-check.ts'
import { type Kind, kindOf, type Mix, UNMIXED } from './mixed.ts'

export interface AuditedPopulation {
  subscribers: number
  subscribersPerAccount: number
  /** First credit of each own bucket, by prepaid include, and of each account's shared ones. */
  own: Record<number, number>
  shared: Record<number, number>
  /** Undefined if all subscribers are plain. */
  mix?: Mix
}

/** A balance of the projection in MongoDB. */
export type BalanceView = Readonly<Record<string, unknown>>

/** Amounts that lines and top-ups have moved, summed over all audits. */
export class Sums {
  /** Payments of each bucket, by `aid:sid:bucket`. */
  readonly paid = new Map<string, number>()
  /** Names of counters in which lines have counted. */
  readonly counted = new Set<string>()
  /** Debt from over-use, by `aid:sid` of the debtor. */
  readonly owed = new Map<string, number>()
  /** Prices by `aid:sid`, then cycle; and how much of them can be over-use, at most. */
  readonly prices = new Map<string, Map<string, number>>()
  readonly mayExceed = new Map<string, number>()

  line(line: LineView): void {
    for (const payment of line.payments) {
      const { owner, bucket_id, counter, usagev = 0, cost_micros = 0, limit_micros = 0 } = payment
      const sid = owner === 'account' ? 0 : line.sid
      add(this.paid, `${line.aid}:${sid}:${bucket_id}`, usagev + cost_micros + limit_micros)
      if (counter !== undefined) this.counted.add(counter)
    }
    add(this.owed, `${line.aid}:${line.sid}`, line.debt_micros - line.account_debt_micros)
    add(this.owed, `${line.aid}:0`, line.account_debt_micros)
    const name = `${line.aid}:${line.sid}`
    const prices = this.prices.get(name) ?? new Map<string, number>()
    this.prices.set(name, prices)
    add(prices, line.billrun, line.aprice_micros)
    // Usage reported after expiry was no longer granted.
    if (line.late) add(this.mayExceed, name, line.aprice_micros)
  }

  /** The differences to other sums, by name. */
  differencesTo(others: Sums): string[] {
    return [
      ...mapDifferences('paid by bucket', this.paid, others.paid),
      ...mapDifferences('owed', this.owed, others.owed),
    ]
  }
}

/** Amounts of top-ups after the first credit. */
export class TopUps {
  /** By `aid:sid:include`. */
  readonly credited = new Map<string, number>()
  /** Amounts that repaid debt: by `aid:sid:bucket`, and by `aid:sid`. */
  readonly repaidOf = new Map<string, number>()
  readonly repaid = new Map<string, number>()

  add({ aid, sid, prepaidIncludeId, bucketId, amount, repaid }: OperationLine): void {
    add(this.credited, `${aid}:${sid}:${prepaidIncludeId}`, amount)
    add(this.repaidOf, `${aid}:${sid}:${bucketId}`, repaid)
    add(this.repaid, `${aid}:${sid}`, repaid)
  }
}

function add(sums: Map<string, number>, key: string, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount)
}

function mapDifferences(
  what: string,
  found: ReadonlyMap<string, number>,
  expected: ReadonlyMap<string, number>,
): string[] {
  const keys = new Set([...found.keys(), ...expected.keys()])
  return [...keys].flatMap((key) => {
    const [one, other] = [found.get(key) ?? 0, expected.get(key) ?? 0]
    return one === other ? [] : [`${what} ${key}: ${one}, expected ${other}`]
  })
}

/** One audit: lines and sessions since the last one, current states. */
export class BalanceChecks {
  readonly differences: string[] = []
  readonly #bySession = new Map<string, LineView[]>()
  readonly #states: { owner: LoadedOwner; bucket: Bucket }[] = []
  readonly #found = new Set<string>()
  readonly #sums: Sums
  readonly #topUps: TopUps
  readonly #population: AuditedPopulation

  /** Adds the lines to `sums`, which contains the earlier ones. */
  constructor(
    lines: readonly LineView[],
    population: AuditedPopulation,
    sums: Sums,
    topUps: TopUps,
  ) {
    this.#population = population
    this.#sums = sums
    this.#topUps = topUps
    for (const line of lines) {
      const known = this.#bySession.get(line.session_id)
      if (known === undefined) this.#bySession.set(line.session_id, [line])
      else known.push(line)
      sums.line(line)
      this.differences.push(...lineDifferences(line, this.#kindOf(line.sid), this.#mix))
    }
  }

  get #mix(): Mix {
    return this.#population.mix ?? UNMIXED
  }

  #kindOf(sid: number): Kind {
    return this.#population.mix === undefined ? 'plain' : kindOf(sid)
  }

  differ(text: string): void {
    this.differences.push(text)
  }

  #equal(what: string, found: number, expected: number): void {
    if (found !== expected) this.differ(`${what}: ${found}, expected ${expected}`)
  }

  /**
   * Every acknowledged unit is on the lines of its session, and every line belongs to a session.
   */
  sessions(truths: readonly SessionTruth[]): void {
    for (const truth of truths) this.#session(truth)
    const known = new Set(truths.map((truth) => truth.lineSessionId))
    for (const sessionId of this.#bySession.keys()) {
      if (!known.has(sessionId))
        this.differ(`session ${sessionId} has lines, and was audited before`)
    }
  }

  #session(truth: SessionTruth): void {
    this.differences.push(...truth.complaints)
    const lines = this.#bySession.get(truth.lineSessionId) ?? []
    for (const service of truth.services) {
      const own = lines.filter(
        (line) =>
          line.usaget === service.usaget && (line.rating_group ?? null) === service.ratingGroup,
      )
      const { usaget, ratingGroup } = service
      const name = `session ${truth.sessionId} (${truth.dialect}) ${usaget}/${ratingGroup}`
      const used = own.reduce((sum, line) => sum + line.usagev, 0)
      const expected = expectedOf(truth, service)
      if (!expected.used.includes(used)) {
        this.differ(`${name} used: ${used}, expected ${expected.used}`)
      }
      this.#mayExceed(truth, service, own[0])
      // Each report is one version of the line; an end without usage may add one more.
      const versions = own.reduce((sum, line) => sum + line.v, 0)
      const { moved, mayHaveMoved } = expected
      if (versions < moved || versions > moved + 1 + mayHaveMoved) {
        this.differ(`${name}: ${versions} line versions for ${moved} reports`)
      }
    }
  }

  /** A credit limit applies to grants; usage beyond it is still charged. */
  #mayExceed({ aid, sid }: SessionTruth, service: ServiceTruth, line?: LineView): void {
    if (line === undefined) return
    for (const units of service.ungranted) {
      const micros = priceAt(line.arate_key, units, true) ?? 0
      add(this.#sums.mayExceed, `${aid}:${sid}`, micros)
    }
  }

  /**
   * Nothing is reserved, and every bucket has its credit minus payments on lines and repaid debt;
   * counters have counted from 0, and at most what they include.
   */
  owner(owner: LoadedOwner): void {
    const { aid, sid, buckets, owed, repaid } = owner.state
    const topUps = this.#topUps
    const sums = this.#sums
    const population = this.#population
    const credits = sid === 0 ? population.shared : population.own
    const counters = sid === 0 ? this.#mix.shared : this.#mix.own[this.#kindOf(sid)]
    this.differences.push(...counterDifferences(owner.state, counters, this.#creditOf(aid, sid)))
    for (const bucket of buckets) {
      const name = `${aid}:${sid}:${bucket.id}`
      const what = `bucket ${name}`
      const topUp = topUps.credited.get(`${aid}:${sid}:${bucket.prepaidIncludeId}`) ?? 0
      const spent = (sums.paid.get(name) ?? 0) + (topUps.repaidOf.get(name) ?? 0)
      const credited = (credits[bucket.prepaidIncludeId] ?? 0) + topUp
      this.#equal(`${what} credited`, bucket.credited, credited)
      this.#equal(`${what} reserved`, bucket.reserved, 0)
      this.#equal(`${what} spent`, bucket.spent, spent)
      this.#equal(`${what} free`, bucket.free, bucket.credited - bucket.spent)
      if (bucket.counter === '' && bucket.free < 0) this.differ(`${what} is below zero`)
      this.#found.add(name)
      this.#states.push({ owner, bucket })
    }
    const who = `${aid}:${sid}`
    this.#equal(`${who} owed`, owed, sums.owed.get(who) ?? 0)
    this.#equal(`${who} repaid`, repaid, topUps.repaid.get(who) ?? 0)
  }

  /**
   * The sums of lines for the credit of a postpaid subscriber, or of all subscribers of an account.
   */
  #creditOf(aid: number, sid: number): CreditTruth {
    const byCycle = new Map<string, number>()
    let mayExceed = 0
    for (const [name, prices] of this.#sums.prices) {
      const [account, subscriber] = name.split(':').map(Number) as [number, number]
      if (account !== aid || this.#kindOf(subscriber) !== 'postpaid') continue
      if (sid !== 0 && subscriber !== sid) continue
      for (const [cycle, micros] of prices) add(byCycle, cycle, micros)
      mayExceed += this.#sums.mayExceed.get(name) ?? 0
    }
    return { byCycle, mayExceed }
  }

  /** Runs once all owners are known: no other bucket has paid. */
  payers(): void {
    for (const [name, amount] of this.#sums.paid) {
      if (!this.#found.has(name)) this.differ(`bucket ${name} is not there, and paid ${amount}`)
    }
  }

  /** The projection in MongoDB shows the last state of each bucket that moved. */
  projection(documents: readonly BalanceView[]): void {
    const known = new Map(
      documents.map((one) => [`${one['aid']}:${one['sid']}:${one['bucket_id']}`, one]),
    )
    for (const { owner, bucket } of this.#states) {
      const { aid, sid, version } = owner.state
      const name = `${aid}:${sid}:${bucket.id}`
      const document = known.get(name)
      if (document === undefined) {
        this.differ(`bucket ${name} has no projection`)
        continue
      }
      // A bucket whose amounts have not changed keeps its older version.
      if (Number(document['v']) > version) this.differ(`projection ${name}: newer than ${version}`)
      this.#equal(`projection ${name} free`, Number(document['free']), bucket.free)
      this.#equal(`projection ${name} spent`, Number(document['spent']), bucket.spent)
    }
  }
}
