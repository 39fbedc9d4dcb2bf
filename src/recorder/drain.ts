/** The loop that brings the ledger's streams into MongoDB: read, write if newer, acknowledge. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { CatalogUnavailableError } from '../catalog/errors.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { AccountPart, StreamBatch, StreamEntry } from '../ledger/stream-entries.ts'
import { openStreamReader, type StreamReader } from '../ledger/streams.ts'
import { monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import type { Metrics } from '../runtime/metrics.ts'
import { coalesce, keysOf } from './coalesce.ts'
import { createIncludeNames } from './include-names.ts'
import { createOutage, type Outage } from './outage.ts'
import { type RecordRefusal, type RefusedRecords, writeFlush } from './write.ts'

export interface DrainOptions {
  /** On a connection of its own: it waits at the streams, `blockMs` at a time. */
  ledger: Ledger
  catalog: Catalog
  log: Logger
  metrics: Pick<Metrics, 'entriesRecorded' | 'entriesUnreadable'>
  /** Name of this recorder among others; may be the same as another's. */
  consumer: string
  batchEntriesMax: number
  blockMs: number
  /**
   * Entries that somebody has read and not acknowledged for so long are taken over. Longer than a
   * round takes, or recorders do each other's work twice, which costs time and nothing else.
   */
  claimIdleMs: number
  claimEveryMs: number
}

export interface Drain {
  /** Goes on until the streams are empty, `drainMs` at most. What is left stays in the streams. */
  stop(drainMs: number): Promise<void>
}

const PAUSE_MS_MAX = 5_000
/** Bounds one take-over: what cannot be recorded would come round again and again. */
const CLAIM_BATCHES_MAX = 100
/** Entries in trouble that are remembered, so that each is reported once. */
const REPORTED_MAX = 10_000

export function startDrain(options: DrainOptions): Drain {
  const drain = new DrainLoop(options)
  return { stop: (drainMs) => drain.stop(drainMs) }
}

class DrainLoop {
  readonly #options: DrainOptions
  readonly #countMax: number
  readonly #namesFor: ReturnType<typeof createIncludeNames>
  readonly #reported = new Set<string>()
  /** Ends everything at once; what is in hand stays pending in its stream. */
  readonly #abort = new AbortController()
  readonly #outage: Outage
  readonly #done: Promise<void>
  #isStopping = false

  constructor(options: DrainOptions) {
    const { ledger, catalog, batchEntriesMax, log } = options
    this.#options = options
    // Redis counts per stream.
    this.#countMax = Math.ceil(batchEntriesMax / ledger.keys.partitions)
    this.#namesFor = createIncludeNames(catalog, monotonicMs)
    this.#outage = createOutage('recording', PAUSE_MS_MAX, log, this.#abort.signal)
    this.#done = this.#run()
  }

  async stop(drainMs: number): Promise<void> {
    this.#isStopping = true
    const bound = new AbortController()
    const timeUp = delay(drainMs, undefined, { signal: bound.signal }).catch(() => undefined)
    await Promise.race([this.#done, timeUp])
    bound.abort()
    this.#abort.abort()
  }

  /** Begins anew after each failure: whatever was lost with a store is made again. */
  async #run(): Promise<void> {
    while (!this.#abort.signal.aborted) {
      try {
        // Without the unique indexes two upserts could both insert.
        await this.#options.catalog.ensureIndexes()
        const reader = await openStreamReader(this.#options.ledger, this.#options.consumer)
        await this.#drain(reader)
        return
      } catch (error) {
        if (this.#abort.signal.aborted) return
        await this.#outage.failed(error)
      }
    }
  }

  async #drain(reader: StreamReader): Promise<void> {
    let claimAtMs = 0
    while (!this.#abort.signal.aborted) {
      if (monotonicMs() >= claimAtMs) {
        await this.#claimPending(reader)
        claimAtMs = monotonicMs() + this.#options.claimEveryMs
      }
      const isLast = this.#isStopping
      const batch = await reader.read(this.#countMax, isLast ? 1 : this.#options.blockMs)
      this.#outage.over()
      await this.#record(reader, batch)
      if (isLast && isEmpty(batch)) return
    }
  }

  /** Records what was read before and not acknowledged: by us, or by another that has ended. */
  async #claimPending(reader: StreamReader): Promise<void> {
    for (let round = 0; round < CLAIM_BATCHES_MAX; round += 1) {
      const batch = await reader.readPending(this.#countMax, this.#options.claimIdleMs)
      await this.#record(reader, batch)
      if (isEmpty(batch) || this.#abort.signal.aborted) return
    }
  }

  async #record(reader: StreamReader, { entries, unreadable }: StreamBatch): Promise<void> {
    const left = new UnrecordedParts()
    for (const part of unreadable) this.#setAside(left, part, part)
    const refused: RefusedRecords | undefined =
      entries.length === 0 ? new Map() : await this.#writeUntilDone(entries)
    if (refused === undefined) return
    for (const entry of entries) {
      const key = keysOf(entry).find((candidate) => refused.has(candidate))
      if (key !== undefined) this.#setAside(left, entry, refused.get(key) as RecordRefusal)
    }
    const recorded = new Map(entries.map((entry) => [entryName(entry), entry]))
    for (const name of left.byEntry.keys()) recorded.delete(name)
    // Another recorder may have been faster: each entry counts once.
    let count = await reader.acknowledge([...recorded.values()])
    for (const parts of left.byEntry.values()) {
      if (parts[0]?.isShared === true) count += await reader.isolateAccounts(parts)
    }
    this.#options.metrics.entriesRecorded(count)
  }

  /** What shares its entry with others gets one of its own first, and is reported by that. */
  #setAside(left: UnrecordedParts, part: AccountPart, refusal: PartFailure): void {
    left.add(part)
    if (!part.isShared) this.#report(part, refusal)
  }

  /** Keeps what it has in hand for as long as MongoDB is away. Undefined: told to end. */
  async #writeUntilDone(entries: readonly StreamEntry[]): Promise<RefusedRecords | undefined> {
    const { catalog } = this.#options
    const round = coalesce(entries)
    while (!this.#abort.signal.aborted) {
      try {
        const refused = await writeFlush(catalog, round, await this.#namesFor(round))
        this.#outage.over()
        return refused
      } catch (error) {
        if (!(error instanceof CatalogUnavailableError))
          return this.#writeIndividually(entries, error)
        await this.#outage.failed(error)
      }
    }
    return undefined
  }

  /** One of them cannot even be sent. The others must not wait for it. */
  async #writeIndividually(
    entries: readonly StreamEntry[],
    error: unknown,
  ): Promise<RefusedRecords | undefined> {
    const refused: RefusedRecords = new Map()
    if (entries.length === 1) {
      const reason = `cannot be sent: ${error instanceof Error ? error.name : typeof error}`
      for (const key of entries.flatMap(keysOf)) refused.set(key, { reason, error })
      return refused
    }
    for (const entry of entries) {
      const alone = await this.#writeUntilDone([entry])
      if (alone === undefined) return undefined
      for (const [key, refusal] of alone) refused.set(key, refusal)
    }
    return refused
  }

  /** It stays pending in its stream, for a person to look at. */
  #report({ partition, id, aid }: AccountPart, { reason, error }: PartFailure): void {
    const name = entryName({ partition, id })
    if (this.#reported.has(name)) return
    if (this.#reported.size >= REPORTED_MAX) this.#reported.clear()
    this.#reported.add(name)
    this.#options.metrics.entriesUnreadable(1)
    const { log } = this.#options
    const where = { partition, entry: id, aid }
    log.error({ ...where, reason }, 'ledger entry cannot be recorded')
    // What a store says may quote names and numbers in any form: only where those may be shown.
    if (error !== undefined) log.debug({ ...where, err: error }, 'the store says')
  }
}

type PartFailure = Omit<RecordRefusal, 'error'> & { error?: unknown }

/** Parts that cannot be recorded, each once, by the names of their entries. */
class UnrecordedParts {
  readonly byEntry = new Map<string, AccountPart[]>()

  add(part: AccountPart): void {
    const name = entryName(part)
    const parts = this.byEntry.get(name)
    if (parts === undefined) this.byEntry.set(name, [part])
    else if (!parts.some(({ fields }) => fields === part.fields)) parts.push(part)
  }
}

function entryName({ partition, id }: { partition: number; id: string }): string {
  return `${partition}/${id}`
}

function isEmpty({ entries, unreadable }: StreamBatch): boolean {
  return entries.length === 0 && unreadable.length === 0
}
