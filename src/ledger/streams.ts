/** Reads the streams of the ledger for the recorder: at least once, acknowledged when recorded. */
import { setTimeout as delay } from 'node:timers/promises'
import { StoreDownError } from '../store/redis.ts'
import { LedgerLostError } from './epochs.ts'
import type { Ledger } from './ledger.ts'
import { runScript } from './script.ts'
import { isolateAccountsScript } from './scripts.ts'
import {
  type AccountPart,
  type RawEntry,
  resolveEntries,
  type StreamBatch,
} from './stream-entries.ts'

const GROUP = 'recorder'
/** A cluster cannot block on streams in several slots: they are polled at this interval. */
const POLL_MS_MAX = 50
/** Entries read from a stream by one command. */
const COUNT_MAX = 1_000
/** About the bytes read by one command: while Redis copies them, it charges nothing. */
const COMMAND_BYTES = 128 * 1024
/** Size of an entry before any was read: that of a batch of some thirty requests. */
const FIRST_ENTRY_BYTES = 2_048

type WireEntry = [id: Buffer, fields: Buffer[] | null]

export interface StreamReader {
  /**
   * Reads new entries of all partitions until there are no more, or until their fields have about
   * `bytesMax` bytes. Waits up to `blockMs` for the first one.
   */
  read(bytesMax: number, blockMs: number): Promise<StreamBatch>
  /**
   * Reads entries that were delivered but not acknowledged, about `bytesMax` bytes of them: those
   * of this consumer, and those of others that have been idle for `idleMs`.
   */
  readPending(bytesMax: number, idleMs: number): Promise<StreamBatch>
  /** Deletes recorded entries. Returns how many of them still existed. */
  acknowledge(entries: readonly StreamEntryRef[]): Promise<number>
  /**
   * Moves each account of a shared entry that cannot be recorded into an entry of its own and
   * deletes the shared one. `parts` are those of one entry. Returns the number of deleted entries.
   */
  isolateAccounts(parts: readonly AccountPart[]): Promise<number>
}

export interface StreamEntryRef {
  partition: number
  id: string
}

/**
 * Creates the consumer group on every partition. `consumer` is the name of this recorder; `rest` is
 * called between pieces of its work.
 */
export async function openStreamReader(
  ledger: Ledger,
  consumer: string,
  rest: () => Promise<void> = () => Promise.resolve(),
): Promise<StreamReader> {
  const { client, guard } = ledger.redis
  const groups = new StreamGroups(ledger, consumer)
  const { partitions } = ledger.keys
  await fromReachable(partitions, (partition) => groups.open(partition))
  const size = new EntrySize()
  return {
    async read(bytesMax, blockMs) {
      const entries: RawEntry[] = []
      let bytes = 0
      let waitMs = blockMs
      while (bytes < bytesMax) {
        const count = size.countFor(Math.min(COMMAND_BYTES, bytesMax - bytes), partitions)
        const found = await groups.read(count, waitMs)
        bytes += size.add(found)
        for (const entry of found) entries.push(entry)
        if (!isCut(found, count)) break
        waitMs = 0
        await rest()
      }
      const batch = await resolveEntries(ledger, entries, rest)
      return { ...batch, isFull: bytes >= bytesMax }
    },
    async readPending(bytesMax, idleMs) {
      const count = size.countFor(bytesMax, partitions)
      const claim = (partition: number) => groups.claim(partition, count, idleMs)
      const entries = (await fromReachable(partitions, claim)).flat()
      const bytes = size.add(entries)
      return { ...(await resolveEntries(ledger, entries, rest)), isFull: bytes >= bytesMax }
    },
    async acknowledge(entries) {
      const byPartition = [...groupIds(entries)].map(async ([partition, ids]) => {
        const key = ledger.keys.stream(partition)
        // Delete first: an entry that is acknowledged but not deleted would never be read again.
        const done = Promise.all([client.xdel(key, ...ids), client.xack(key, GROUP, ...ids)])
        return (await guard(done))[0]
      })
      return (await Promise.all(byPartition)).reduce((sum, forgotten) => sum + forgotten, 0)
    },
    async isolateAccounts(parts) {
      const [first] = parts
      if (first === undefined) return 0
      const accounts = parts.map(({ fields }) => fields)
      const call = { stream: ledger.keys.stream(first.partition), group: GROUP, id: first.id }
      const added = await runScript(ledger.redis, isolateAccountsScript, { ...call, accounts })
      return added > 0 ? 1 : 0
    },
  }
}

/** Whether a stream may have more entries than were read from it. */
function isCut(found: readonly RawEntry[], count: number): boolean {
  const counts = new Map<number, number>()
  for (const { partition } of found) {
    const ofStream = (counts.get(partition) ?? 0) + 1
    if (ofStream >= count) return true
    counts.set(partition, ofStream)
  }
  return false
}

/** Redis limits a read by entries of each stream: estimates how many fit into a number of bytes. */
class EntrySize {
  #bytesEach = FIRST_ENTRY_BYTES
  #streams = 1

  /** Entries per stream, if they are distributed as in the last read. */
  countFor(bytesMax: number, partitions: number): number {
    const streams = Math.min(this.#streams, partitions)
    const count = Math.ceil(bytesMax / (this.#bytesEach * streams))
    return Math.min(COUNT_MAX, Math.max(1, count))
  }

  /** Returns the bytes of the fields of all entries. */
  add(entries: readonly RawEntry[]): number {
    let bytes = 0
    const partitions = new Set<number>()
    for (const { partition, fields } of entries) {
      partitions.add(partition)
      for (const field of fields ?? []) bytes += field.length
    }
    if (entries.length > 0) {
      this.#bytesEach = Math.max(1, bytes / entries.length)
      this.#streams = partitions.size
    }
    return bytes
  }
}

/** The consumer group on the streams of one ledger. */
class StreamGroups {
  readonly #opened = new Set<number>()
  readonly #ledger: Ledger
  readonly #consumer: string

  constructor(ledger: Ledger, consumer: string) {
    this.#ledger = ledger
    this.#consumer = consumer
  }

  async open(partition: number): Promise<void> {
    if (this.#opened.has(partition)) return
    const { client, guard } = this.#ledger.redis
    const key = this.#ledger.keys.stream(partition)
    await guard(client.xgroup('CREATE', key, GROUP, '0', 'MKSTREAM')).catch(ignoreExistingGroup)
    this.#opened.add(partition)
  }

  async read(countMax: number, blockMs: number): Promise<RawEntry[]> {
    const { redis, keys } = this.#ledger
    const all = Array.from({ length: keys.partitions }, (_, partition) => partition)
    // `BLOCK 0` would wait without limit.
    const wait = blockMs > 0 ? ['BLOCK', String(blockMs)] : []
    if (!redis.isCluster) return this.#readStreams(all, countMax, wait)
    const readOne = async (partition: number) => {
      await this.open(partition)
      return this.#readStreams([partition], countMax, [])
    }
    const found = (await fromReachable(keys.partitions, readOne)).flat()
    if (found.length === 0) await delay(Math.min(blockMs, POLL_MS_MAX))
    return found
  }

  async #readStreams(
    partitions: readonly number[],
    countMax: number,
    wait: readonly string[],
  ): Promise<RawEntry[]> {
    const { redis, keys } = this.#ledger
    const streams = new Map(partitions.map((partition) => [keys.stream(partition), partition]))
    const found = await this.#detectLoss(
      partitions,
      redis.client.callBuffer(
        'XREADGROUP',
        'GROUP',
        GROUP,
        this.#consumer,
        'COUNT',
        String(countMax),
        ...wait,
        'STREAMS',
        ...streams.keys(),
        ...partitions.map(() => '>'),
      ) as Promise<unknown>,
    )
    return streamsIn(found).flatMap(([key, entries]) => {
      const partition = streams.get(key.toString()) ?? 0
      return entries.map(([id, fields]) => ({ partition, id: id.toString(), fields }))
    })
  }

  /** A missing stream or group was lost with its Redis: it is created again by the next call. */
  #detectLoss<T>(partitions: readonly number[], command: Promise<T>): Promise<T> {
    return this.#ledger.redis.guard(command).catch((error: unknown) => {
      const isGone = error instanceof Error && /^(NOGROUP|UNBLOCKED)\b/.test(error.message)
      if (!isGone) throw error
      for (const partition of partitions) this.#opened.delete(partition)
      throw new LedgerLostError('redis has lost its streams', { cause: error })
    })
  }

  async claim(partition: number, countMax: number, idleMs: number): Promise<RawEntry[]> {
    const { client } = this.#ledger.redis
    const key = this.#ledger.keys.stream(partition)
    const [, entries] = (await this.#detectLoss(
      [partition],
      client.callBuffer(
        'XAUTOCLAIM',
        key,
        GROUP,
        this.#consumer,
        String(idleMs),
        '0',
        'COUNT',
        String(countMax),
      ) as Promise<unknown>,
    )) as [Buffer, (WireEntry | null)[]]
    // Redis 6.2 returns null for a deleted entry.
    const present = entries.filter((entry) => entry !== null)
    return present.map(([id, fields]) => ({ partition, id: id.toString(), fields }))
  }
}

/**
 * Results of the partitions that are available; an unavailable node of a cluster must not delay the
 * entries of the others. Throws `StoreDownError` if no partition is available.
 */
async function fromReachable<T>(
  partitions: number,
  call: (partition: number) => Promise<T>,
): Promise<T[]> {
  const results = await Promise.allSettled(
    Array.from({ length: partitions }, (_, partition) => call(partition)),
  )
  const fulfilled: T[] = []
  let outage: unknown
  for (const result of results) {
    if (result.status === 'fulfilled') fulfilled.push(result.value)
    else if (result.reason instanceof StoreDownError) outage = result.reason
    else throw result.reason
  }
  if (fulfilled.length === 0) throw outage
  return fulfilled
}

/** Number of entries that are not recorded yet, over all partitions. */
export async function streamBacklog(ledger: Ledger): Promise<number> {
  return sumOver(ledger, (partition) => ledger.redis.client.xlen(ledger.keys.stream(partition)))
}

/** Time of the oldest unrecorded entry, in ms since 1970; null if all streams are empty. */
export async function oldestEntryMs({ redis, keys }: Ledger): Promise<number | null> {
  const firsts = Array.from({ length: keys.partitions }, (_, partition) =>
    redis.client.xrange(keys.stream(partition), '-', '+', 'COUNT', 1),
  )
  const times = (await redis.guard(Promise.all(firsts))).flatMap(([first]) =>
    first === undefined ? [] : [Number.parseInt(first[0], 10)],
  )
  return times.length === 0 ? null : Math.min(...times)
}

/**
 * The oldest entry of a partition that recorders have read so often and not recorded, as
 * `PARTITION/ID`; null without such an entry. Each failed attempt to record it is a read.
 */
export async function entryNotRecorded(
  { redis, keys }: Ledger,
  readsMin: number,
): Promise<string | null> {
  for (let partition = 0; partition < keys.partitions; partition += 1) {
    const call = redis.client.xpending(keys.stream(partition), GROUP, '-', '+', 1)
    // Without a group there was no recorder yet.
    const pending = (await redis.guard(call.catch(noneWithoutGroup))) as PendingEntry[]
    for (const [id, , , reads] of pending) if (reads >= readsMin) return `${partition}/${id}`
  }
  return null
}

type PendingEntry = [id: string, consumer: string, idleMs: number, reads: number]

function noneWithoutGroup(error: unknown): [] {
  if (error instanceof Error && error.message.startsWith('NOGROUP')) return []
  throw error
}

/** Number of open sessions, over all partitions. */
export async function openSessions(ledger: Ledger): Promise<number> {
  return sumOver(ledger, (partition) => ledger.redis.client.zcard(ledger.keys.expiry(partition)))
}

/** When the first open session expires, in ms since 1970; null without open sessions. */
export async function firstExpiryMs({ redis, keys }: Ledger): Promise<number | null> {
  const firsts = Array.from({ length: keys.partitions }, (_, partition) =>
    redis.client.zrange(keys.expiry(partition), '0', '0', 'WITHSCORES'),
  )
  const times = (await redis.guard(Promise.all(firsts))).flatMap(([, score]) =>
    score === undefined ? [] : [Number(score)],
  )
  return times.length === 0 ? null : Math.min(...times)
}

async function sumOver(
  ledger: Ledger,
  count: (partition: number) => Promise<number>,
): Promise<number> {
  const counts = Array.from({ length: ledger.keys.partitions }, (_, partition) => count(partition))
  const found = await ledger.redis.guard(Promise.all(counts))
  return found.reduce((sum, part) => sum + part, 0)
}

/** A list of pairs in RESP2; a map in RESP3, which the driver returns as a flat list. */
function streamsIn(found: unknown): [Buffer, WireEntry[]][] {
  const reply = (found ?? []) as (Buffer | WireEntry[] | [Buffer, WireEntry[]])[]
  if (!Buffer.isBuffer(reply[0])) return reply as [Buffer, WireEntry[]][]
  return reply.flatMap((key, index) =>
    Buffer.isBuffer(key) ? [[key, reply[index + 1] as WireEntry[]]] : [],
  )
}

function ignoreExistingGroup(error: unknown): void {
  if (!(error instanceof Error) || !error.message.startsWith('BUSYGROUP')) throw error
}

function groupIds(entries: readonly StreamEntryRef[]): Map<number, string[]> {
  const groups = new Map<number, string[]>()
  for (const { partition, id } of entries) {
    const group = groups.get(partition)
    if (group === undefined) groups.set(partition, [id])
    else group.push(id)
  }
  return groups
}
