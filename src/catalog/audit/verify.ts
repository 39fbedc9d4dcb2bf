/**
 * Verifies the chain of audit records from its start, or from the first record that retention has
 * kept.
 */
import type { Catalog } from '../connection.ts'
import type { ChainEnd } from '../records/audit-document.ts'
import {
  CHAIN_START,
  type ChainedRecord,
  hasErasureMarks,
  hashOf,
} from '../transactions/audit-chain.ts'
import { isSigned, readRemovedRuns, type StoredRun } from './removed-runs.ts'

export interface ChainReport {
  ok: boolean
  records: number
  /** Number of records removed by retention. */
  removed: number
  /** Number of records with erased fields. */
  erased: number
  /** The newest record. Store it elsewhere to detect later changes of any record up to it. */
  end: ChainEnd
  /** The first problems, as messages. */
  problems: string[]
  problemsLeftOut: number
}

export interface ChainExpectations {
  /** Key that signs the ranges removed by retention; empty if they are not signed. */
  key: string
  /** The end as reported by an earlier verification. */
  expected?: ChainEnd
}

const PAGE = 500
const PROBLEMS_MAX = 1_000

/** Records may be appended meanwhile. Rejects with `CatalogUnavailableError`. */
export async function verifyChain(
  catalog: Catalog,
  expectations: ChainExpectations,
): Promise<ChainReport> {
  // Read first: the record of this head must exist, whatever is appended meanwhile.
  const head = await catalog.transactions.findOne({ _id: 'head' })
  const check = new ChainCheck(await readRemovedRuns(catalog), expectations, head?.audit ?? null)
  for (;;) {
    const after = check.seq
    const page = await catalog.audit
      .find({ 'chain.seq': { $gt: after } })
      .sort({ 'chain.seq': 1 })
      .limit(PAGE)
      .toArray()
    for (const record of page) check.add(record as ChainedRecord)
    if (page.length < PAGE) break
  }
  const outside = await catalog.audit.countDocuments({ 'chain.seq': { $exists: false } })
  return check.report(outside)
}

class ChainCheck {
  readonly #runs: readonly StoredRun[]
  readonly #expectations: ChainExpectations
  readonly #expectedEnds: ChainEnd[]
  readonly #problems: string[] = []
  /** Erasures that records refer to, with the first such record. */
  readonly #namedErasures = new Map<string, number>()
  readonly #erasures = new Set<string>()
  #leftOut = 0
  #records = 0
  #erased = 0
  #end: ChainEnd = CHAIN_START

  constructor(runs: readonly StoredRun[], expectations: ChainExpectations, head: ChainEnd | null) {
    this.#runs = runs
    this.#expectations = expectations
    this.#expectedEnds = [head, expectations.expected].flatMap((end) => end ?? [])
    for (const run of runs) {
      if (isSigned(run, expectations.key)) continue
      this.#problem(
        `records ${run.from} to ${run.to}: their removal is not signed with secrets.key`,
      )
    }
  }

  get seq(): number {
    return this.#end.seq
  }

  add(record: ChainedRecord): void {
    const { seq, prev, hash, erased_by: erasures = [] } = record.chain
    this.#records += 1
    this.#checkSequence(seq, prev)
    if (hashOf(record) !== hash) this.#problem(`record ${seq}: its content was changed`)
    if (record.chain.fields !== undefined) {
      this.#erased += 1
      if (!hasErasureMarks(record) || erasures.length === 0) {
        this.#problem(`record ${seq}: fields were removed without an erasure`)
      }
    }
    for (const erasure of erasures) {
      if (!this.#namedErasures.has(erasure)) this.#namedErasures.set(erasure, seq)
    }
    if (record.type === 'erase' && record.operation_id !== undefined) {
      this.#erasures.add(record.operation_id)
    }
    this.#checkExpectedEnd({ seq, hash })
    this.#end = { seq, hash }
  }

  report(outside: number): ChainReport {
    for (const known of this.#expectedEnds) {
      const { seq } = known
      if (seq > this.#end.seq && this.#runCovering(this.#end.seq + 1, seq) === undefined) {
        this.#problem(`records ${this.#end.seq + 1} to ${seq} are missing`)
      }
    }
    for (const [erasure, seq] of this.#namedErasures) {
      if (this.#erasures.has(erasure)) continue
      this.#problem(
        `record ${seq}: fields were removed by ${erasure}, for which there is no record`,
      )
    }
    if (outside > 0) this.#problem(`${outside} records are not part of the chain`)
    return {
      ok: this.#problems.length === 0,
      records: this.#records,
      removed: this.#runs.reduce((sum, { from, to }) => sum + to - from + 1, 0),
      erased: this.#erased,
      end: this.#end,
      problems: this.#problems,
      problemsLeftOut: this.#leftOut,
    }
  }

  #checkSequence(seq: number, prev: string): void {
    const end = this.#end
    if (seq === end.seq + 1) {
      if (prev === end.hash) return
      // An interrupted removal leaves records whose predecessors may be deleted already.
      if (this.#runs.some(({ from, to }) => from <= seq && seq <= to)) return
      this.#problem(`record ${seq}: does not follow record ${end.seq}`)
      return
    }
    const run = this.#runCovering(end.seq + 1, seq - 1)
    if (run === undefined) {
      this.#problem(`records ${end.seq + 1} to ${seq - 1} are missing`)
    } else if (run.to === seq - 1 && run.hash !== prev) {
      this.#problem(`record ${seq}: does not follow the records removed by retention`)
    }
  }

  #checkExpectedEnd({ seq, hash }: ChainEnd): void {
    const { expected } = this.#expectations
    for (const known of this.#expectedEnds) {
      if (known.seq !== seq || known.hash === hash) continue
      const other = known === expected ? 'the given one' : 'the stored end of the chain'
      this.#problem(`record ${seq}: differs from ${other}`)
    }
  }

  #runCovering(from: number, to: number): StoredRun | undefined {
    return this.#runs.find((run) => run.from <= from && to <= run.to)
  }

  #problem(text: string): void {
    if (this.#problems.length < PROBLEMS_MAX) this.#problems.push(text)
    else this.#leftOut += 1
  }
}
