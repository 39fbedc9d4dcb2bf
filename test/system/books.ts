/**
 * What must be true of the lines and balances, by arithmetic of its own. Knows no store: it is told
 * the lines, what was acknowledged, and the states, and collects the differences.
 */
import type { Bucket } from '../../src/domain/bucket.ts'
import type { OperationLine } from '../../src/domain/line.ts'
import type { LoadedOwner } from '../../src/ledger/ledger.ts'
import type { SessionTruth } from './workload.ts'

export interface LineView {
  stamp: string
  v: number
  sid: number
  aid: number
  session_id: string
  rating_group: number | null
  usaget: string
  arate_key: string
  usagev: number
  priced_usagev: number
  aprice_micros: number
  debt_micros: number
  payments: {
    owner: string
    bucket_id: number
    usagev?: number
    cost_micros?: number
  }[]
}

/** A balance of the projection in MongoDB. */
export type BalanceView = Readonly<Record<string, unknown>>

/** The demo catalogue's prices: micros per interval, access. Written down here a second time. */
const PRICES: Record<string, { interval: number; micros: number; access: number }> = {
  DATA: { interval: 1_048_576, micros: 10_000, access: 0 },
  DATA_10: { interval: 1_048_576, micros: 2_000, access: 0 },
  CALL: { interval: 60, micros: 100_000, access: 50_000 },
  SMS: { interval: 1, micros: 40_000, access: 0 },
}

/** What lines and top-ups say that moved, summed over all that was ever audited. */
export class Sums {
  /** What each bucket paid, by `aid:sid:bucket`. */
  readonly paid = new Map<string, number>()
  /** Over-use that nothing could pay, by subscriber. */
  readonly owed = new Map<string, number>()

  line(line: LineView): void {
    for (const { owner, bucket_id, usagev = 0, cost_micros = 0 } of line.payments) {
      const sid = owner === 'account' ? 0 : line.sid
      add(this.paid, `${line.aid}:${sid}:${bucket_id}`, usagev + cost_micros)
    }
    add(this.owed, String(line.sid), line.debt_micros)
  }

  /** How these differ from others, by name. */
  differencesTo(others: Sums): string[] {
    return [
      ...mapDifferences('paid by bucket', this.paid, others.paid),
      ...mapDifferences('owed by subscriber', this.owed, others.owed),
    ]
  }
}

/** What top-ups have given after the first credit. */
export class TopUps {
  /** By `aid:sid:include`. */
  readonly credited = new Map<string, number>()
  /** What went to debt: by `aid:sid:bucket`, and by subscriber. */
  readonly repaidOf = new Map<string, number>()
  readonly repaid = new Map<string, number>()

  add({ aid, sid, prepaidIncludeId, bucketId, amount, repaid }: OperationLine): void {
    add(this.credited, `${aid}:${sid}:${prepaidIncludeId}`, amount)
    add(this.repaidOf, `${aid}:${sid}:${bucketId}`, repaid)
    add(this.repaid, String(sid), repaid)
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

/** The sums of all subsets, the empty one first. */
function sumsOf(amounts: readonly number[]): number[] {
  let sums = [0]
  for (const amount of amounts) sums = sums.concat(sums.map((sum) => sum + amount))
  return sums
}

/** One audit: lines and sessions since the last one, states as they are now. */
export class Books {
  readonly differences: string[] = []
  private readonly bySession = new Map<string, LineView[]>()
  private readonly states: { owner: LoadedOwner; bucket: Bucket }[] = []
  private readonly sums: Sums
  private readonly topUps: TopUps

  /** Adds the lines to `sums`, which knows those before. */
  constructor(lines: readonly LineView[], sums: Sums, topUps: TopUps) {
    this.sums = sums
    this.topUps = topUps
    for (const line of lines) {
      const known = this.bySession.get(line.session_id)
      if (known === undefined) this.bySession.set(line.session_id, [line])
      else known.push(line)
      sums.line(line)
      this.line(line)
    }
  }

  differ(text: string): void {
    this.differences.push(text)
  }

  private equal(what: string, found: number, expected: number): void {
    if (found !== expected) this.differ(`${what}: ${found}, expected ${expected}`)
  }

  /** A line must be right in itself: units and money add up, and the price is the rate's. */
  private line(line: LineView): void {
    let units = 0
    let micros = 0
    for (const payment of line.payments) {
      units += payment.usagev ?? 0
      micros += payment.cost_micros ?? 0
    }
    const what = `line ${line.stamp}`
    this.equal(`${what} units`, units + line.priced_usagev, line.usagev)
    this.equal(`${what} money`, micros + line.debt_micros, line.aprice_micros)
    const price = PRICES[line.arate_key]
    if (price === undefined) {
      this.differ(`${what}: rate ${line.arate_key} was not expected`)
      return
    }
    const begun = Math.ceil(line.priced_usagev / price.interval)
    const expected = begun * price.micros + (begun > 0 ? price.access : 0)
    this.equal(`${what} price`, line.aprice_micros, expected)
  }

  /** Every acknowledged unit is on the lines of its session, and every line is of a session. */
  sessions(truths: readonly SessionTruth[]): void {
    for (const truth of truths) this.session(truth)
    const known = new Set(truths.map((truth) => truth.sessionId))
    for (const sessionId of this.bySession.keys()) {
      if (!known.has(sessionId))
        this.differ(`session ${sessionId} has lines, and was audited before`)
    }
  }

  private session(truth: SessionTruth): void {
    this.differences.push(...truth.complaints)
    const lines = this.bySession.get(truth.sessionId) ?? []
    for (const service of truth.services) {
      const own = lines.filter(
        (line) =>
          line.usaget === service.usaget && (line.rating_group ?? null) === service.ratingGroup,
      )
      const name = `session ${truth.sessionId} ${service.usaget}/${service.ratingGroup}`
      const used = own.reduce((sum, line) => sum + line.usagev, 0)
      const possible = sumsOf(service.unknowable).map((extra) => service.used + extra)
      if (!possible.includes(used)) this.differ(`${name} used: ${used}, expected ${possible}`)
      // Each report is one version of the line; an end without usage may add one more.
      const versions = own.reduce((sum, line) => sum + line.v, 0)
      const most = service.reports + 1 + service.unknowable.length
      if (versions < service.reports || versions > most) {
        this.differ(`${name}: ${versions} line versions for ${service.reports} reports`)
      }
    }
  }

  /**
   * Nothing is held, and every bucket holds its credit less what the lines say it paid and what
   * top-ups repaid. `credits` are the first ones, by prepaid include.
   */
  owner(owner: LoadedOwner, credits: Record<number, number>): void {
    const { aid, sid, buckets, owed, repaid } = owner.state
    const { topUps, sums } = this
    for (const bucket of buckets) {
      const name = `${aid}:${sid}:${bucket.id}`
      const what = `bucket ${name}`
      const topUp = topUps.credited.get(`${aid}:${sid}:${bucket.prepaidIncludeId}`) ?? 0
      const spent = (sums.paid.get(name) ?? 0) + (topUps.repaidOf.get(name) ?? 0)
      const credited = (credits[bucket.prepaidIncludeId] ?? 0) + topUp
      this.equal(`${what} credited`, bucket.credited, credited)
      this.equal(`${what} reserved`, bucket.reserved, 0)
      this.equal(`${what} spent`, bucket.spent, spent)
      this.equal(`${what} free`, bucket.free, bucket.credited - bucket.spent)
      if (bucket.free < 0) this.differ(`${what} is below zero`)
      this.states.push({ owner, bucket })
    }
    if (sid === 0) return
    this.equal(`subscriber ${sid} owed`, owed, sums.owed.get(String(sid)) ?? 0)
    this.equal(`subscriber ${sid} repaid`, repaid, topUps.repaid.get(String(sid)) ?? 0)
  }

  /** The projection in MongoDB shows the last state of each bucket that moved. */
  projection(documents: readonly BalanceView[]): void {
    const known = new Map(
      documents.map((one) => [`${one['aid']}:${one['sid']}:${one['bucket_id']}`, one]),
    )
    for (const { owner, bucket } of this.states) {
      const { aid, sid, version } = owner.state
      const name = `${aid}:${sid}:${bucket.id}`
      const document = known.get(name)
      if (document === undefined) {
        this.differ(`bucket ${name} has no projection`)
        continue
      }
      this.equal(`projection ${name} version`, Number(document['v']), version)
      this.equal(`projection ${name} free`, Number(document['free']), bucket.free)
      this.equal(`projection ${name} spent`, Number(document['spent']), bucket.spent)
    }
  }
}
