/** Waits until the recorder has written all stream entries of an account. */
import { setTimeout as delay } from 'node:timers/promises'
import { requestRecording } from '../store/recording-requests.ts'
import type { Ledger } from './ledger.ts'

const POLL_MS = 50
const POLLS_MAX = 400
/** The recorder is asked to continue once per so many polls. */
const POLLS_PER_REQUEST = 10
/** After this many timeouts the recorder is considered stalled, and no further wait is started. */
const TIMEOUTS_MAX = 3
/** Entries of one stream that are searched for account names. */
const ENTRIES_MAX = 1_000

export interface RecorderProgress {
  /**
   * True when all current entries of an account are recorded; false on a timeout, and from then on
   * for this account. Throws `StoreDownError`.
   */
  waitUntilRecorded(aid: number): Promise<boolean>
  /** Returns the accounts whose entries are recorded. */
  waitForEach(aids: readonly number[]): Promise<number[]>
}

/** A stream and its newest entry at the time of the request. */
interface StreamPosition {
  stream: string
  newest: string
}

/** Stands for every account: an entry without account names, or too many entries to search. */
const ANY_ACCOUNT = -1

/** `pollsMax` limits one wait; polls are 50 ms apart. */
export function watchRecorderProgress(ledger: Ledger, pollsMax = POLLS_MAX): RecorderProgress {
  const { redis, keys } = ledger
  const streams = Array.from({ length: keys.partitions }, (_, index) => keys.stream(index))
  /** Accounts of entries that were not recorded in time: later requests do not wait for them. */
  const stuck = new Set<number>()
  let timeouts = 0

  const readEach = async (queue: (pipeline: Pipeline) => void): Promise<Entries[]> => {
    const pipeline = redis.client.pipeline()
    queue(pipeline)
    const replies = (await redis.guard(pipeline.exec())) ?? []
    return replies.map(([error, entries]) => {
      if (error !== null) throw error
      return entries as Entries
    })
  }
  const positionsOf = async (names: readonly string[]): Promise<StreamPosition[]> => {
    const found = await readEach((pipeline) => {
      for (const name of names) pipeline.xrevrange(name, '+', '-', 'COUNT', 1)
    })
    return names.flatMap((stream, index) => {
      const newest = found[index]?.[0]?.[0]
      return newest === undefined ? [] : [{ stream, newest }]
    })
  }
  /** Accounts of unrecorded entries, except those that are stuck. */
  const unrecorded = async (
    positions: readonly StreamPosition[],
    entriesMax: number,
  ): Promise<Set<number>> => {
    if (positions.length === 0) return new Set()
    const found = await readEach((pipeline) => {
      for (const { stream, newest } of positions) {
        pipeline.xrange(stream, '-', newest, 'COUNT', entriesMax)
      }
    })
    const aids = found.flatMap((entries) => accountsIn(entries, entriesMax))
    return new Set(aids.filter((aid) => !stuck.has(aid)))
  }

  const waitForEach = async (requested: readonly number[]): Promise<number[]> => {
    const aids = requested.filter((aid) => !stuck.has(aid))
    if (aids.length === 0 || stuck.has(ANY_ACCOUNT) || timeouts >= TIMEOUTS_MAX) return []
    // On a single Redis the entry of a call is in the stream of the first account of the call.
    const own = new Set(aids.map((aid) => keys.stream(keys.partitionOf(aid))))
    const positions = await positionsOf(redis.isCluster ? [...own] : streams)
    for (let poll = 0; poll < pollsMax; poll += 1) {
      const pending = await unrecorded(positions, stuck.size === 0 ? 1 : ENTRIES_MAX)
      if (pending.size === 0) return aids
      if (poll % POLLS_PER_REQUEST === 0) await requestRecording(redis)
      await delay(POLL_MS)
    }
    timeouts += 1
    for (const pending of await unrecorded(positions, ENTRIES_MAX)) stuck.add(pending)
    return stuck.has(ANY_ACCOUNT) ? [] : aids.filter((aid) => !stuck.has(aid))
  }
  return {
    waitForEach,
    waitUntilRecorded: async (aid) => (await waitForEach([aid])).length > 0,
  }
}

type Pipeline = ReturnType<Ledger['redis']['client']['pipeline']>
type Entries = [id: string, fields: string[]][]

function accountsIn(entries: Entries, entriesMax: number): number[] {
  const aids = entries.flatMap(([, fields]) => accountsNamed(fields))
  // Entries beyond the limit may name any account.
  return entries.length > 1 && entries.length >= entriesMax ? [ANY_ACCOUNT] : aids
}

/** `fields` alternates names and values. */
function accountsNamed(fields: readonly string[]): number[] {
  const names = fields.filter((_, index) => index % 2 === 0)
  const aids = names.flatMap((name) => /^(\d+):\d+$/.exec(name)?.[1] ?? []).map(Number)
  return aids.length > 0 ? aids : [ANY_ACCOUNT]
}
