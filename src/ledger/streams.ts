/** The ledger's streams, as the recorder reads them: at least once, acknowledged when recorded. */
import type { ChainableCommander } from 'ioredis'
import type { Ledger } from './ledger.ts'
import { type RawEntry, resolveEntries, type StreamBatch } from './stream-entries.ts'

const GROUP = 'recorder'

type WireEntry = [id: Buffer, fields: Buffer[] | null]

export interface StreamReader {
  /** New entries of all partitions, waiting up to `blockMs` for the first. */
  read(countMax: number, blockMs: number): Promise<StreamBatch>
  /** Entries that were read before and not acknowledged: ours, and those idle for `idleMs`. */
  readPending(countMax: number, idleMs: number): Promise<StreamBatch>
  /** Forgets what is recorded. */
  acknowledge(entries: readonly { partition: number; id: string }[]): Promise<void>
}

/** Opens the consumer group on every partition. `consumer` names this recorder. */
export async function openStreamReader(ledger: Ledger, consumer: string): Promise<StreamReader> {
  const { client, guard } = ledger.redis
  const streams = partitionStreams(ledger)
  for (const key of streams.keys()) {
    await guard(client.xgroup('CREATE', key, GROUP, '0', 'MKSTREAM')).catch(ignoreExistingGroup)
  }
  return {
    async read(countMax, blockMs) {
      const ids = [...streams.keys()].map(() => '>')
      const found = await guard(
        client.callBuffer(
          ...['XREADGROUP', 'GROUP', GROUP, consumer, 'COUNT', String(countMax)],
          ...['BLOCK', String(blockMs), 'STREAMS', ...streams.keys(), ...ids],
        ) as Promise<unknown>,
      )
      const raw: RawEntry[] = []
      for (const [key, entries] of streamsIn(found)) {
        const partition = streams.get(key.toString()) ?? 0
        for (const [id, fields] of entries) raw.push({ partition, id: id.toString(), fields })
      }
      return resolveEntries(ledger, raw)
    },
    async readPending(countMax, idleMs) {
      const raw: RawEntry[] = []
      for (const [key, partition] of streams) {
        const [, entries] = (await guard(
          client.callBuffer(
            ...['XAUTOCLAIM', key, GROUP, consumer, String(idleMs), '0'],
            ...['COUNT', String(countMax)],
          ) as Promise<unknown>,
        )) as [Buffer, (WireEntry | null)[]]
        // Redis 6.2 has null, not an entry, for one that was deleted.
        const present = entries.filter((entry) => entry !== null)
        for (const [id, fields] of present) raw.push({ partition, id: id.toString(), fields })
      }
      return resolveEntries(ledger, raw)
    },
    async acknowledge(entries) {
      const pipeline = client.pipeline()
      for (const [partition, ids] of groupIds(entries)) {
        // In this order: what is acknowledged but still there would never be seen again.
        pipeline.xdel(ledger.keys.stream(partition), ...ids)
        pipeline.xack(ledger.keys.stream(partition), GROUP, ...ids)
      }
      await guard(execAll(pipeline))
    },
  }
}

/** Entries that the recorder has yet to write, over all partitions. */
export async function streamBacklog(ledger: Ledger): Promise<number> {
  return sumOver(ledger, (key) => ['xlen', key], ledger.keys.stream)
}

/** Open sessions, over all partitions. */
export async function openSessions(ledger: Ledger): Promise<number> {
  return sumOver(ledger, (key) => ['zcard', key], ledger.keys.expiry)
}

async function sumOver(
  ledger: Ledger,
  command: (key: string) => [string, string],
  keyOf: (partition: number) => string,
): Promise<number> {
  const commands = Array.from({ length: ledger.keys.partitions }, (_, partition) =>
    command(keyOf(partition)),
  )
  const replies = await ledger.redis.guard(execAll(ledger.redis.client.pipeline(commands)))
  return replies.reduce((sum: number, count) => sum + Number(count), 0)
}

/** The replies to all commands; rejects with the first error among them. */
async function execAll(pipeline: ChainableCommander): Promise<unknown[]> {
  const replies = (await pipeline.exec()) ?? []
  return replies.map(([error, reply]) => {
    if (error !== null) throw error
    return reply
  })
}

function partitionStreams(ledger: Ledger): Map<string, number> {
  const streams = new Map<string, number>()
  for (let partition = 0; partition < ledger.keys.partitions; partition += 1) {
    streams.set(ledger.keys.stream(partition), partition)
  }
  return streams
}

/** A list of pairs in RESP2; in RESP3 a map, which the driver hands over flat. */
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

function groupIds(entries: readonly { partition: number; id: string }[]): Map<number, string[]> {
  const groups = new Map<number, string[]>()
  for (const { partition, id } of entries) {
    const group = groups.get(partition)
    if (group === undefined) groups.set(partition, [id])
    else group.push(id)
  }
  return groups
}
