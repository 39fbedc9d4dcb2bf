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

type WireEntry = [id: Buffer, fields: Buffer[] | null]

export interface StreamReader {
  /**
   * Reads new entries of all partitions, waiting up to `blockMs` for the first one. `countMax`
   * limits the entries of each partition. A batch is also limited to `countMax` owners and records
   * per partition; the rest is returned by the next call.
   */
  read(countMax: number, blockMs: number): Promise<StreamBatch>
  /**
   * Reads entries that were delivered but not acknowledged: those of this consumer, and those of
   * others that have been idle for `idleMs`.
   */
  readPending(countMax: number, idleMs: number): Promise<StreamBatch>
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

/** Creates the consumer group on every partition. `consumer` is the name of this recorder. */
export async function openStreamReader(ledger: Ledger, consumer: string): Promise<StreamReader> {
  const { client, guard } = ledger.redis
  const groups = new StreamGroups(ledger, consumer)
  const { partitions } = ledger.keys
  await fromReachable(partitions, (partition) => groups.open(partition))
  let fresh: RawEntry[] = []
  let pending: RawEntry[] = []
  // Requests as many entries as fill a batch if the streams continue as in the last read. With
  // more, entries would wait here until another consumer claims them; with fewer, an account named
  // by many entries would be written once for each.
  let fieldsEach = 1
  let streams = partitions
  const countEach = (countMax: number) => {
    const count = Math.floor((countMax * partitions) / (fieldsEach * streams))
    return Math.min(countMax, Math.max(1, count))
  }
  return {
    async read(countMax, blockMs) {
      if (fresh.length === 0) {
        fresh = await groups.read(countEach(countMax), blockMs)
        if (fresh.length > 0) {
          fieldsEach = Math.max(1, fieldsIn(fresh) / fresh.length)
          streams = new Set(fresh.map(({ partition }) => partition)).size
        }
      }
      return resolveEntries(ledger, takeBatch(fresh, countMax * partitions))
    },
    async readPending(countMax, idleMs) {
      if (pending.length === 0) {
        const claim = (partition: number) => groups.claim(partition, countEach(countMax), idleMs)
        pending = (await fromReachable(partitions, claim)).flat()
        // Some of the claimed entries may have waited in `fresh` for too long.
        const claimed = new Set(pending.map(nameOf))
        fresh = fresh.filter((entry) => !claimed.has(nameOf(entry)))
      }
      return resolveEntries(ledger, takeBatch(pending, countMax * partitions))
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

/**
 * Removes entries from the list until they have `fieldsMax` fields with values, the last entry
 * complete: Redis counts entries, and one may name the accounts of a whole call.
 */
function takeBatch(entries: RawEntry[], fieldsMax: number): RawEntry[] {
  let [count, fields] = [0, 0]
  while (count < entries.length && fields < fieldsMax) {
    fields += fieldsIn(entries.slice(count, count + 1))
    count += 1
  }
  return entries.splice(0, count)
}

/** Number of fields with values: each is an owner or a record. */
function fieldsIn(entries: readonly RawEntry[]): number {
  return entries.reduce((sum, { fields }) => sum + (fields?.length ?? 0) / 2, 0)
}

function nameOf({ partition, id }: StreamEntryRef): string {
  return `${partition}/${id}`
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
    if (!redis.isCluster) return this.#readStreams(all, countMax, ['BLOCK', String(blockMs)])
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

/** Number of open sessions, over all partitions. */
export async function openSessions(ledger: Ledger): Promise<number> {
  return sumOver(ledger, (partition) => ledger.redis.client.zcard(ledger.keys.expiry(partition)))
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
