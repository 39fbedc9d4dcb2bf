/**
 * Finds records that are charged already by their lines. Lines are in MongoDB as soon as the
 * recorder has written them; until then the ledger recognises the records (`RECORD_REPLAY_MS`).
 */
import { setTimeout as pause } from 'node:timers/promises'
import type { Catalog } from '../catalog/connection.ts'
import { isAway, type Patience, repeated } from '../catalog/patience.ts'
import type { IntakeTotal } from '../catalog/records/usage/intake-documents.ts'
import { RECORD_REPLAY_MS } from '../domain/replay.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { entryNotRecorded, oldestEntryMs } from '../ledger/streams.ts'
import { monotonicMs, processMs, systemClock } from '../runtime/clock.ts'
import { StoreDownError } from '../store/redis.ts'

/** Records cannot be charged now, for the reason in the message; some may have been charged. */
export class RecordsPostponedError extends Error {
  override name = 'RecordsPostponedError'
}

/**
 * An entry of the ledger cannot be recorded; the log of the recorder says why. It may have lines
 * of records that the ledger has forgotten, so no record can be charged.
 */
export class UnrecordedEntryError extends Error {
  override name = 'UnrecordedEntryError'
}

/** The usage and price in a line. */
export type RecordedUse = Omit<IntakeTotal, 'records'>

export interface RecordedLines {
  /** By stamp. */
  readonly uses: ReadonlyMap<string, RecordedUse>
  /** Until when records without a line may be sent to the ledger, `processMs`. */
  readonly sendUntilMs: number
}

const LAG_POLL_MS = 200
const LAGGING = 'the recorder lags behind'
/** More reads than those of several recorders that wait for MongoDB: each reads an entry once. */
const FAILED_READS_MIN = 8
const STAMPS_PER_READ = 2_000

export interface RecordedStores {
  readonly catalog: Pick<Catalog, 'lines'>
  readonly ledger: Ledger
  /** `ledger.replayMs`. */
  readonly replayMs: number
  readonly patience: Patience
}

/**
 * A record whose line is not found was not charged before, or so recently that the ledger still
 * knows it: nothing that waits to be recorded is older than half of that time, and the records have
 * to be sent within a quarter of it. Waits for a recorder that lags behind; rejects after the time
 * of `patience` with `RecordsPostponedError`, `StoreDownError` or `CatalogUnavailableError`, and at
 * once with `UnrecordedEntryError`.
 */
export async function findRecorded(
  { catalog, ledger, replayMs, patience }: RecordedStores,
  stamps: readonly string[],
): Promise<RecordedLines> {
  const knownMs = Math.min(replayMs, RECORD_REPLAY_MS)
  await untilRecorded(ledger, knownMs / 2, patience)
  const sendUntilMs = processMs() + knownMs / 4
  const uses = new Map<string, RecordedUse>()
  for (let at = 0; at < stamps.length; at += STAMPS_PER_READ) {
    const some = stamps.slice(at, at + STAMPS_PER_READ)
    for (const line of await repeated(() => linesOf(catalog, some), patience)) {
      const { stamp, usaget, usagev = 0, aprice_micros = 0 } = line
      uses.set(stamp, { usaget: usaget ?? '', units: usagev, price_micros: aprice_micros })
    }
  }
  return { uses, sendUntilMs }
}

interface LineUse {
  stamp: string
  usaget?: string
  usagev?: number
  aprice_micros?: number
}

async function linesOf({ lines }: RecordedStores['catalog'], stamps: readonly string[]) {
  const projection = { _id: 0, stamp: 1, usaget: 1, usagev: 1, aprice_micros: 1 }
  const found = await lines.find({ stamp: { $in: [...stamps] } }, { projection }).toArray()
  return found as unknown as LineUse[]
}

async function untilRecorded(ledger: Ledger, lagMsMax: number, patience: Patience): Promise<void> {
  const { forMs, onWait, signal } = patience
  const endMs = monotonicMs() + forMs
  // An answer of the ledger does not end the wait, which is reported once.
  const asked: Patience = { ...patience, onWait: (reason) => reason !== null && onWait(reason) }
  for (;;) {
    // Time of the ledger's streams, and not of the installation.
    const oldestMs = await repeated(() => oldestEntryMs(ledger), asked, isOutage)
    if (oldestMs === null || systemClock.nowMs() - oldestMs <= lagMsMax) break
    const entry = await repeated(() => entryNotRecorded(ledger, FAILED_READS_MIN), asked, isOutage)
    if (entry !== null) {
      throw new UnrecordedEntryError(`${entry} of the ledger cannot be recorded: see the recorder`)
    }
    if (monotonicMs() > endMs) throw new RecordsPostponedError(LAGGING)
    onWait(LAGGING)
    await pause(LAG_POLL_MS, undefined, { signal })
  }
  onWait(null)
}

/** Whether a step is repeated until the store is back. */
export function isOutage(error: unknown): error is Error {
  return error instanceof StoreDownError || isAway(error)
}
