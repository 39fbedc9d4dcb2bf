/** Drains the ledger's streams into MongoDB: read, write if newer, acknowledge. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { Recorders } from '../ledger/recorders.ts'
import type { AccountPart, StreamBatch, StreamEntry } from '../ledger/stream-entries.ts'
import { openStreamReader, type StreamReader } from '../ledger/streams.ts'
import { monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import type { Subscription } from '../store/bus.ts'
import { subscribeToRecordingRequests } from '../store/recording-requests.ts'
import type { RecordRefusal, RefusedRecords } from './bulk.ts'
import { coalesce, type EntryContent, type FlushRecords, keysOf } from './coalesce.ts'
import type { CycleEnds } from './cycle-ends.ts'
import { createIncludeNames } from './include-names.ts'
import { KnownRecords } from './known-records.ts'
import { OpenLines } from './open-lines.ts'
import { createOutage, type Outage } from './outage.ts'
import type { Restraint } from './restraint.ts'
import { writeFlush } from './write.ts'

export interface DrainOptions {
  /** Needs its own connection: reads block for `blockMs`. */
  ledger: Ledger
  catalog: Catalog
  log: Logger
  metrics: Pick<Metrics, 'entriesRecorded' | 'entriesUnreadable' | 'recordOperations'>
  /** Consumer name; recorders may share one. */
  consumer: string
  /** Waits for a first entry for so long before other work is checked. */
  blockMs: number
  /**
   * Rounds begin at least this far apart, unless one is full, recording is requested, or the
   * recorder stops; up to five times as far if writing them takes long.
   */
  gatherMs: number
  /** Bytes of stream entries of one round. */
  roundBytesMax: number
  /** The longest time for which a newer version of the line of an open segment may wait. */
  openLinesMs: number
  /**
   * Pending entries of other consumers are claimed after this idle time. If it is shorter than a
   * flush, recorders duplicate each other's work, which is harmless but costs time.
   */
  claimIdleMs: number
  claimEveryMs: number
  cycles: CycleEnds
  isExporting: boolean
  isStreaming: boolean
  restraint: Pick<Restraint, 'rest' | 'begin'>
}

export interface Drain {
  /**
   * Continues until the streams are empty, for at most `drainMs`. The rest stays in the streams.
   */
  stop(drainMs: number): Promise<void>
}

const PAUSE_MS_MAX = 5_000
/** Bounds one pass: entries that cannot be recorded stay pending and would be read again. */
const CLAIM_BATCHES_MAX = 100
/**
 * While writing takes long, rounds are further apart, so that each writes more changes of a record
 * at once: writing may take this share of the time, up to a limit in multiples of `gatherMs`.
 */
const WRITING_SHARE = 0.25
const GATHER_FACTOR_MAX = 5
const HEARTBEAT_MS = 1_000
/** Entries that could not be recorded, remembered so that each is reported once. */
const REPORTED_MAX = 10_000

export function startDrain(options: DrainOptions): Drain {
  const drain = new DrainLoop(options)
  return { stop: (drainMs) => drain.stop(drainMs) }
}

class DrainLoop {
  readonly #options: DrainOptions
  readonly #known = new KnownRecords()
  readonly #openLines: OpenLines
  readonly #namesFor: ReturnType<typeof createIncludeNames>
  readonly #reported = new Set<string>()
  /** Aborts immediately; unacknowledged entries stay pending in their streams. */
  readonly #abort = new AbortController()
  readonly #outage: Outage
  readonly #done: Promise<void>
  /** Time that the last round needed to be written. */
  #writingMs = 0
  /** Before this time the next round does not begin. */
  #roundAtMs = 0
  #endPause: () => void = () => undefined
  #isStopping = false
  /**
   * Not while someone waits for the end of this recorder, or others may claim what it has read:
   * `tenure` is 0 beside others.
   */
  readonly #rest = (): Promise<void> => {
    if (this.#isStopping || this.#known.tenure === 0) return Promise.resolve()
    return this.#options.restraint.rest()
  }
  readonly #requests: Subscription
  readonly #recorders: Recorders
  readonly #heartbeat: NodeJS.Timeout

  constructor(options: DrainOptions) {
    const { ledger, catalog, blockMs, openLinesMs, log } = options
    this.#options = options
    this.#openLines = new OpenLines(openLinesMs, this.#known)
    this.#namesFor = createIncludeNames(catalog, monotonicMs)
    this.#outage = createOutage('recording', PAUSE_MS_MAX, log, this.#abort.signal)
    this.#requests = subscribeToRecordingRequests(ledger.redis, () => this.#beginRound(), log)
    this.#recorders = new Recorders(ledger, blockMs)
    this.#heartbeat = setInterval(() => void this.#beat(), HEARTBEAT_MS)
    this.#done = this.#run()
  }

  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true
    this.#beginRound()
    this.#requests.close()
    const bound = new AbortController()
    const timeUp = delay(drainMs, undefined, { signal: bound.signal }).catch(() => undefined)
    await Promise.race([this.#done, timeUp])
    bound.abort()
    this.#abort.abort()
    clearInterval(this.#heartbeat)
    await this.#recorders.leave()
  }

  /** While a round is written, too. */
  async #beat(): Promise<void> {
    if (!(await this.#isAlone())) this.#known.setAlone(false)
  }

  /** A Redis that is full refuses heartbeats, but not reading, which makes room. */
  #isAlone(): Promise<boolean> {
    return this.#recorders.announce().catch(() => false)
  }

  /** Restarts after each failure, which recreates indexes and consumer groups if they were lost. */
  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        // Without the unique indexes, two upserts could both insert.
        await this.#options.catalog.ensureIndexes()
        const { ledger, consumer } = this.#options
        const reader = await openStreamReader(ledger, consumer, this.#rest)
        await this.#recorders.join(this.#abort.signal).catch(() => undefined)
        await this.#drain(reader)
        return
      } catch (error) {
        if (this.#abort.signal.aborted) return
        await this.#failed(error)
      }
    }
  }

  async #failed(error: unknown): Promise<void> {
    this.#known.clear()
    await this.#outage.failed(error)
    this.#options.restraint.begin()
  }

  /** While one round is written, the next one is read. */
  async #drain(reader: StreamReader): Promise<void> {
    const { roundBytesMax, blockMs, claimEveryMs, restraint } = this.#options
    let claimAtMs = 0
    let writing: Promise<void> = Promise.resolve()
    try {
      while (!this.#abort.signal.aborted) {
        if (monotonicMs() >= claimAtMs) {
          await writing
          await this.#claimPending(reader)
          claimAtMs = monotonicMs() + claimEveryMs
        }
        await this.#pause()
        const isLast = this.#isStopping
        this.#known.setAlone(await this.#isAlone())
        const { tenure } = this.#known
        this.#roundAtMs = monotonicMs() + this.#gatherMs()
        const batch = await reader.read(roundBytesMax, isLast ? 0 : blockMs)
        if (batch.isFull) this.#roundAtMs = 0
        else restraint.begin()
        this.#outage.over()
        await writing
        writing = this.#record(reader, batch, tenure)
        writing.catch(() => undefined)
        if (isLast && isEmpty(batch)) break
      }
      await writing
    } finally {
      // Not beside the next attempt, whose reader would claim the same entries.
      await writing.catch(() => undefined)
    }
  }

  #gatherMs(): number {
    const { gatherMs } = this.#options
    const targetMs = this.#writingMs / WRITING_SHARE
    return Math.max(gatherMs, Math.min(targetMs, gatherMs * GATHER_FACTOR_MAX))
  }

  /** Until the next round may begin. */
  async #pause(): Promise<void> {
    const forMs = this.#roundAtMs - monotonicMs()
    if (forMs <= 0 || this.#isStopping) return
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, forMs)
      this.#endPause = () => {
        clearTimeout(timer)
        resolve()
      }
    })
  }

  #beginRound(): void {
    this.#roundAtMs = 0
    this.#endPause()
  }

  /** Records pending entries: this recorder's own, or those of one that has stopped. */
  async #claimPending(reader: StreamReader): Promise<void> {
    const { roundBytesMax, claimIdleMs } = this.#options
    for (let flush = 0; flush < CLAIM_BATCHES_MAX; flush += 1) {
      const { tenure } = this.#known
      const batch = await reader.readPending(roundBytesMax, claimIdleMs)
      // An empty round would write the lines that wait.
      if (isEmpty(batch)) return
      await this.#record(reader, batch, tenure)
      if (this.#abort.signal.aborted) return
    }
  }

  /** `tenure`: that of `#known` before the entries were read. */
  async #record(
    reader: StreamReader,
    { entries, unreadable }: StreamBatch,
    tenure: number,
  ): Promise<void> {
    const left = new UnrecordedParts()
    for (const part of unreadable) this.#setAside(left, part, part)
    const beginMs = monotonicMs()
    const flush = coalesce(entries)
    const lines = this.#openLines.select(flush, beginMs)
    const refused = await this.#writeUntilDone(entries, { ...flush, lines }, tenure)
    this.#writingMs = monotonicMs() - beginMs
    if (refused === undefined) return
    if (refused.size > 0) this.#setRefusedAside(left, entries, refused)
    for (const [stamp, { reason }] of refused) {
      // Its entry was acknowledged earlier. The audit reports the line as well.
      const hasWaited = lines.has(stamp) && !flush.lines.has(stamp)
      if (hasWaited) this.#options.log.error({ stamp, reason }, 'line cannot be updated')
    }
    // Another recorder may have acknowledged entries first: each is counted once.
    let count = await reader.acknowledge(wholeEntries(entries, left))
    for (const parts of left.byEntry.values()) {
      if (parts[0]?.isShared === true) count += await reader.isolateAccounts(parts)
    }
    this.#options.metrics.entriesRecorded(count)
  }

  #setRefusedAside(
    left: UnrecordedParts,
    entries: readonly StreamEntry[],
    refused: RefusedRecords,
  ): void {
    for (const entry of entries) {
      const key = keysOf(entry).find((candidate) => refused.has(candidate))
      if (key !== undefined) this.#setAside(left, entry, refused.get(key) as RecordRefusal)
    }
  }

  /**
   * A part that shares its entry with others is first moved to its own entry, and reported from
   * there.
   */
  #setAside(left: UnrecordedParts, part: AccountPart, refusal: PartFailure): void {
    left.add(part)
    if (!part.isShared) this.#report(part, refusal)
  }

  /** Retries while MongoDB is unavailable. Undefined if the recorder was stopped. */
  async #writeUntilDone(
    entries: readonly EntryContent[],
    flush: FlushRecords,
    tenure = 0,
  ): Promise<RefusedRecords | undefined> {
    const { catalog, cycles, isExporting, isStreaming } = this.#options
    while (!this.#abort.signal.aborted) {
      try {
        const names = await this.#namesFor(flush)
        await cycles.refresh()
        const refused = await writeFlush(catalog, flush, names, {
          known: this.#known,
          tenure,
          count: this.#options.metrics.recordOperations,
          cycles,
          isExporting,
          isStreaming,
          rest: this.#rest,
        })
        this.#outage.over()
        return refused
      } catch (error) {
        if (!(error instanceof CatalogUnavailableError))
          return this.#writeIndividually(entries, flush, error)
        await this.#failed(error)
      }
    }
    return undefined
  }

  /** A document cannot be serialised. Writing entries individually isolates it from the others. */
  async #writeIndividually(
    entries: readonly EntryContent[],
    flush: FlushRecords,
    error: unknown,
  ): Promise<RefusedRecords | undefined> {
    const refused: RefusedRecords = new Map()
    const own = new Set(entries.flatMap(({ lines }) => lines.map(({ stamp }) => stamp)))
    const waiting = [...flush.lines.values()].filter(({ stamp }) => !own.has(stamp))
    const parts = [
      ...entries,
      ...waiting.map((line): EntryContent => ({ lines: [line], operations: [], owners: [] })),
    ]
    if (parts.length === 1) {
      const reason = `cannot be sent: ${error instanceof Error ? error.name : typeof error}`
      for (const key of parts.flatMap(keysOf)) refused.set(key, { reason, error })
      return refused
    }
    for (const part of parts) {
      const alone = await this.#writeUntilDone([part], coalesce([part]))
      if (alone === undefined) return undefined
      for (const [key, refusal] of alone) refused.set(key, refusal)
    }
    return refused
  }

  /** The entry stays pending in its stream for manual inspection. */
  #report({ partition, id, aid }: AccountPart, { reason, error }: PartFailure): void {
    const name = entryName({ partition, id })
    if (this.#reported.has(name)) return
    if (this.#reported.size >= REPORTED_MAX) this.#reported.clear()
    this.#reported.add(name)
    this.#options.metrics.entriesUnreadable(1)
    const { log } = this.#options
    const where = { partition, entry: id, aid }
    log.error({ ...where, reason }, 'ledger entry cannot be recorded')
    // Errors of the store may quote personal data: only logged at debug level.
    if (error !== undefined) log.debug({ ...where, err: error }, 'error of the store')
  }
}

type PartFailure = Omit<RecordRefusal, 'error'> & { error?: unknown }

/** Parts that cannot be recorded, without duplicates, by entry. */
class UnrecordedParts {
  readonly byEntry = new Map<string, AccountPart[]>()

  add(part: AccountPart): void {
    const name = entryName(part)
    const parts = this.byEntry.get(name)
    if (parts === undefined) this.byEntry.set(name, [part])
    else if (!parts.some(({ fields }) => fields === part.fields)) parts.push(part)
  }
}

/** Each entry once, whose parts follow each other, except those with parts that are left. */
function wholeEntries(parts: readonly StreamEntry[], left: UnrecordedParts): StreamEntry[] {
  return parts.filter((part, index) => {
    const before = parts[index - 1]
    const isFirst = before?.id !== part.id || before.partition !== part.partition
    return isFirst && !left.byEntry.has(entryName(part))
  })
}

function entryName({ partition, id }: { partition: number; id: string }): string {
  return `${partition}/${id}`
}

function isEmpty({ entries, unreadable }: StreamBatch): boolean {
  return entries.length === 0 && unreadable.length === 0
}
