/** Charges the records of a chunk, each exactly once, however often that is attempted. */
import { setTimeout as pause } from 'node:timers/promises'
import { monotonicMs } from '../runtime/clock.ts'
import type { ChunkResult, RecordCharge } from './prepared-chunk.ts'
import { chargeRecords, isPostponed, type RecordWorker } from './record-charger.ts'
import {
  findRecorded,
  type RecordedLines,
  type RecordedStores,
  RecordsPostponedError,
} from './recorded.ts'

export interface RecordStores extends RecordedStores {
  readonly worker: RecordWorker
}

const PAUSE_MS = 100
const PAUSE_MS_MAX = 5_000

/** The lines of records that were charged before this attempt. */
export async function findDuplicates(
  stores: RecordedStores,
  charges: readonly RecordCharge[],
): Promise<{ duplicates: number[]; recorded: RecordedLines }> {
  const recorded = await findRecorded(stores, stampsOf(charges))
  const duplicates = charges.filter((charge) => isIn(recorded, charge))
  return { duplicates: duplicates.map(({ record }) => record.line), recorded }
}

/**
 * `duplicates`: lines of records that were charged before the chunk was begun for the first time.
 * Others that have lines are its own: it was begun before. `recorded`: what was found a moment ago.
 * Rejects like `findRecorded`.
 */
export async function chargeChunk(
  stores: RecordStores,
  charges: readonly RecordCharge[],
  duplicates: ReadonlySet<number>,
  result: ChunkResult,
  recorded: RecordedLines | null,
): Promise<void> {
  const { patience } = stores
  let left = charges.filter((charge) => {
    if (!duplicates.has(charge.record.line)) return true
    result.duplicate(charge)
    return false
  })
  const endMs = monotonicMs() + patience.forMs
  let found = recorded
  for (let pauseMs = PAUSE_MS; left.length > 0; pauseMs = Math.min(2 * pauseMs, PAUSE_MS_MAX)) {
    found ??= await findRecorded(stores, stampsOf(left))
    const open = withoutRecorded(left, found, result)
    const requests = open.map(({ request }) => request)
    const outcomes = await chargeRecords(stores.worker, requests, found.sendUntilMs)
    const postponed: RecordCharge[] = []
    let why = ''
    for (const [index, charge] of open.entries()) {
      const outcome = outcomes[index]
      if (outcome === undefined || isPostponed(outcome)) {
        postponed.push(charge)
        if (outcome?.reason !== 'timedOut') why ||= outcome?.detail || outcome?.reason || ''
      } else result.decided(charge, outcome)
    }
    left = postponed
    found = null
    if (left.length === 0) break
    if (monotonicMs() > endMs) {
      throw new RecordsPostponedError(why || 'records were not charged in time')
    }
    if (why !== '') patience.onWait(why)
    await pause(pauseMs, undefined, { signal: patience.signal })
  }
  patience.onWait(null)
}

/** Counts those that have lines, and returns the others. */
function withoutRecorded(
  charges: readonly RecordCharge[],
  recorded: RecordedLines,
  result: ChunkResult,
): RecordCharge[] {
  return charges.filter((charge) => {
    if (!isIn(recorded, charge)) return true
    // The first one of its key is the one that was charged.
    if (result.chargedKeys.has(charge.sessionKey)) result.duplicate(charge)
    else result.charged(charge, usesIn(recorded, charge))
    return false
  })
}

function isIn({ uses }: RecordedLines, { stamps }: RecordCharge): boolean {
  return stamps.some((stamp) => uses.has(stamp))
}

function usesIn({ uses }: RecordedLines, { stamps }: RecordCharge) {
  return stamps.flatMap((stamp) => uses.get(stamp) ?? [])
}

function stampsOf(charges: readonly RecordCharge[]): string[] {
  return [...new Set(charges.flatMap(({ stamps }) => stamps))]
}
