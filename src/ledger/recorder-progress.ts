/** Waits until the recorder has written what the ledger has said so far. */
import { setTimeout as delay } from 'node:timers/promises'
import type { Ledger } from './ledger.ts'

const POLL_MS = 50
const POLLS_MAX = 400
/** After so many waits in vain the recorder is taken for one that does not come to the end. */
const TIMEOUTS_MAX = 3
/** Entries of one stream that are looked at for the accounts that they name. */
const ENTRIES_MAX = 1_000

export interface RecorderProgress {
  /**
   * True when all entries that name an account by now are recorded; false if that takes too long,
   * and from then on for this account. Throws `StoreDownError`.
   */
  waitUntilRecorded(aid: number): Promise<boolean>
  /** Those of the accounts of which it is true. */
  waitForEach(aids: readonly number[]): Promise<number[]>
}

/** A stream, and the newest entry that it had when it was looked at. */
interface StreamPosition {
  stream: string
  newest: string
}

/** What entries are taken for that name nobody, or that are too many to look at. */
const ANY_ACCOUNT = -1

/** `pollsMax` bounds one wait, at 50 ms each. */
export function watchRecorderProgress(ledger: Ledger, pollsMax = POLLS_MAX): RecorderProgress {
  const { redis, keys } = ledger
  const streams = Array.from({ length: keys.partitions }, (_, index) => keys.stream(index))
  /** Accounts of entries that were not recorded in time: nobody waits for these again. */
  const stuck = new Set<number>()
  let waitsInVain = 0

  const readEach = async (queue: (pipeline: Pipeline) => void): Promise<Entries[]> => {
    const pipeline = redis.client.pipeline()
    queue(pipeline)
    const replies = (await redis.guard(pipeline.exec())) ?? []
    return replies.map(([error, entries]) => {
      if (error !== null) throw error
      return entries as Entries
    })
  }
  const marksOf = async (names: readonly string[]): Promise<StreamPosition[]> => {
    const found = await readEach((pipeline) => {
      for (const name of names) pipeline.xrevrange(name, '+', '-', 'COUNT', 1)
    })
    return names.flatMap((stream, index) => {
      const newest = found[index]?.[0]?.[0]
      return newest === undefined ? [] : [{ stream, newest }]
    })
  }
  /** Accounts that unrecorded entries name, those that are stuck left out. */
  const unrecorded = async (
    marks: readonly StreamPosition[],
    entriesMax: number,
  ): Promise<Set<number>> => {
    if (marks.length === 0) return new Set()
    const found = await readEach((pipeline) => {
      for (const { stream, newest } of marks) {
        pipeline.xrange(stream, '-', newest, 'COUNT', entriesMax)
      }
    })
    const aids = found.flatMap((entries) => accountsIn(entries, entriesMax))
    return new Set(aids.filter((aid) => !stuck.has(aid)))
  }

  const reachedOf = async (wanted: readonly number[]): Promise<number[]> => {
    const aids = wanted.filter((aid) => !stuck.has(aid))
    if (aids.length === 0 || stuck.has(ANY_ACCOUNT) || waitsInVain >= TIMEOUTS_MAX) return []
    // On a single Redis the entry of a call is in the stream of the first of its accounts.
    const own = new Set(aids.map((aid) => keys.stream(keys.partitionOf(aid))))
    const marks = await marksOf(redis.isCluster ? [...own] : streams)
    for (let poll = 0; poll < pollsMax; poll += 1) {
      const left = await unrecorded(marks, stuck.size === 0 ? 1 : ENTRIES_MAX)
      if (left.size === 0) return aids
      await delay(POLL_MS)
    }
    waitsInVain += 1
    for (const left of await unrecorded(marks, ENTRIES_MAX)) stuck.add(left)
    return stuck.has(ANY_ACCOUNT) ? [] : aids.filter((aid) => !stuck.has(aid))
  }
  return {
    waitForEach: reachedOf,
    waitUntilRecorded: async (aid) => (await reachedOf([aid])).length > 0,
  }
}

type Pipeline = ReturnType<Ledger['redis']['client']['pipeline']>
type Entries = [id: string, fields: string[]][]

function accountsIn(entries: Entries, entriesMax: number): number[] {
  const aids = entries.flatMap(([, fields]) => accountsNamed(fields))
  // There may be more of them, of whomever.
  return entries.length > 1 && entries.length >= entriesMax ? [ANY_ACCOUNT] : aids
}

/** By the fields of an entry, which come with their values. */
function accountsNamed(fields: readonly string[]): number[] {
  const names = fields.filter((_, index) => index % 2 === 0)
  const aids = names.flatMap((name) => /^(\d+):\d+$/.exec(name)?.[1] ?? []).map(Number)
  return aids.length > 0 ? aids : [ANY_ACCOUNT]
}
