/** Watches one source: takes its complete files, one after the other, while it has the lease. */
import { randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { isUnanswered } from '../../catalog/patience.ts'
import type { IntakeFileDocument } from '../../catalog/records/usage/intake-documents.ts'
import type { RecordFileType } from '../../file-types/records/record-files.ts'
import { monotonicMs, systemClock } from '../../runtime/clock.ts'
import type { FileResult, IntakeMetrics } from '../../runtime/intake-metrics.ts'
import type { Logger } from '../../runtime/log.ts'
import type { ExpiringKeys } from '../../store/expiring.ts'
import { StoreDownError } from '../../store/redis.ts'
import { type PlaceFile, TransferError } from '../../transfer/place.ts'
import type { Intake } from '../open-intake.ts'
import { UnrecordedEntryError } from '../recorded.ts'
import { FileTakenOverError } from '../take-file.ts'
import { type SourceFileParts, takeSourceFile } from './source-file.ts'
import { oldestMs, WaitingFiles } from './waiting-files.ts'

export interface SourceWatchOptions extends SourceFileParts {
  readonly intake: Pick<Intake, 'fileType'>
  readonly keys: ExpiringKeys
  readonly metrics: IntakeMetrics
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>
  readonly pollMs: number
  readonly signal: AbortSignal
}

/** The process stops; the file is continued by the next one. */
class StoppedError extends Error {
  override name = 'StoppedError'
}

/** Longer than a store may be away without another process taking over. */
const LEASE_MS = 30_000
const RETRY_MS_MAX = 5 * 60_000
/** A file that cannot be taken is attempted again after this time. */
const POSTPONED_MS = 5 * 60_000

export class SourceWatch {
  readonly #options: SourceWatchOptions
  readonly #files: WaitingFiles
  readonly #token = randomUUID()
  #failures = 0
  #hasLease = false

  constructor(options: SourceWatchOptions) {
    this.#options = options
    this.#files = new WaitingFiles(options.settings)
  }

  /** Polls until the signal is aborted. Never rejects. */
  async run(): Promise<void> {
    const { signal, pollMs } = this.#options
    // The poll reports an outage of Redis; the lease may last longer than it.
    const renew = () => this.#renew().catch(() => undefined)
    const renewal = setInterval(renew, LEASE_MS / 3)
    while (!signal.aborted) {
      await this.poll()
      const waitMs = Math.min(pollMs * 2 ** Math.min(this.#failures, 20), RETRY_MS_MAX)
      await pause(Math.max(pollMs, waitMs), undefined, { signal }).catch(() => undefined)
    }
    clearInterval(renewal)
    await this.#release()
  }

  /** Takes the files that are complete now. Never rejects: a failure is logged and counted. */
  async poll(): Promise<void> {
    const { settings, metrics, log } = this.#options
    const source = settings.name
    try {
      if (await this.#acquire()) await this.#takeAll()
      else this.#showWaiting(new Set())
      if (this.#failures > 0) log.info({ source }, 'a source of usage records works again')
      this.#failures = 0
      metrics.sourceFailing(source, false)
    } catch (error) {
      if (this.#options.signal.aborted) return
      const isFirst = this.#failures === 0
      this.#failures += 1
      if (isFirst) log.error({ err: error, source }, 'a source of usage records fails; retrying')
      metrics.sourceFailing(source, true)
    }
  }

  async #takeAll(): Promise<void> {
    const { place, settings, intake, signal } = this.#options
    const { waiting, ready } = this.#files.observe(await place.list(settings.folder), monotonicMs())
    const left = new Set(waiting)
    this.#showWaiting(left)
    if (ready.length === 0) return
    const fileType = await intake.fileType(settings.fileType)
    for (const file of ready) {
      if (signal.aborted || !this.#hasLease) return
      if (await this.#takeOne(fileType, file)) left.delete(file)
      this.#showWaiting(left)
    }
  }

  /** Returns whether the file does not wait any more. Rejects if the source or a store is away. */
  async #takeOne(fileType: RecordFileType, found: PlaceFile): Promise<boolean> {
    const { settings, metrics, log } = this.#options
    const count = (result: FileResult) => metrics.intakeFile(settings.name, result)
    const context = { source: settings.name, file: found.name }
    try {
      const taken = await takeSourceFile(this.#options, fileType, found, this.#counting())
      const { state, read, charged, duplicates, rejected, error } = taken.file
      const counts = { state, read, charged, duplicates, rejected }
      if (state === 'failed') {
        log.warn({ ...context, ...counts, error }, 'a file of usage records failed its checks')
      } else log.info({ ...context, ...counts }, 'a file of usage records was charged')
      count(taken.isRepeated ? 'repeated' : state === 'done' ? 'done' : 'failed')
      return true
    } catch (error) {
      if (this.#options.signal.aborted || isAway(error)) throw error
      // Also if another process has moved it meanwhile.
      this.#files.postpone(found.name, monotonicMs() + POSTPONED_MS)
      if (error instanceof FileTakenOverError) return false
      log.error({ err: error, ...context }, 'a file of usage records cannot be taken')
      count('error')
      return false
    }
  }

  /** Counts what each chunk has added to what was stored before. */
  #counting(): (file: Readonly<IntakeFileDocument>) => void {
    const { settings, metrics, signal } = this.#options
    let before: Readonly<IntakeFileDocument> | null = null
    return (file) => {
      if (before !== null) {
        for (const result of ['charged', 'duplicates', 'filtered', 'rejected'] as const) {
          metrics.intakeRecords(settings.name, result, file[result] - before[result])
        }
      }
      before = file
      if (signal.aborted && file.state === 'running') throw new StoppedError('the process stops')
    }
  }

  #showWaiting(files: ReadonlySet<PlaceFile>): void {
    const { settings, metrics } = this.#options
    const ageMs = files.size === 0 ? 0 : Math.max(0, systemClock.nowMs() - oldestMs(files))
    metrics.waitingFiles(settings.name, files.size, ageMs / 1000)
  }

  get #leaseKey(): string {
    return `source:${this.#options.settings.name}`
  }

  /** Records are charged once without it: it only keeps processes from the same work. */
  async #acquire(): Promise<boolean> {
    const { keys, spool } = this.#options
    const isNew = await keys.setOnce(this.#leaseKey, this.#token, LEASE_MS)
    // Copies of a process that has died.
    if (isNew) await rm(spool, { recursive: true, force: true })
    this.#hasLease = isNew || (await keys.get(this.#leaseKey)) === this.#token
    return this.#hasLease
  }

  async #renew(): Promise<void> {
    if (!this.#hasLease) return
    const { keys } = this.#options
    this.#hasLease = (await keys.get(this.#leaseKey)) === this.#token
    if (this.#hasLease) await keys.extend(this.#leaseKey, LEASE_MS)
  }

  async #release(): Promise<void> {
    if (!this.#hasLease) return
    this.#hasLease = false
    // If Redis is away the lease ends by itself.
    await this.#options.keys.remove(this.#leaseKey).catch(() => undefined)
  }
}

/** Whether the other files of the source would fail too. */
function isAway(error: unknown): boolean {
  if (error instanceof TransferError) {
    return error.kind === 'unreachable' || error.kind === 'disk full'
  }
  const isStopped = error instanceof StoreDownError || error instanceof UnrecordedEntryError
  return isStopped || isUnanswered(error)
}
