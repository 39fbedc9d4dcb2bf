/** The ledger's streams, as the recorder reads them: at least once, acknowledged when recorded. */
import type { OwnerState } from '../domain/bucket.ts'
import type { Line } from '../domain/line.ts'
import { lineOf, serviceTagOf } from '../domain/lines.ts'
import type { Session } from '../domain/session.ts'
import type { Ledger } from './ledger.ts'
import { unpackOwner } from './owner-packing.ts'
import { type StreamRecord, unpackRecord, unpackSession } from './session-packing.ts'

const GROUP = 'recorder'

/** What one commit of one account changed. */
export interface StreamEntry extends StreamRecord {
  partition: number
  id: string
  /** States of the owners that were written. */
  owners: OwnerState[]
}

/** An entry that cannot be read: kept in the stream for a person, and reported. */
export interface UnreadableEntry {
  partition: number
  id: string
  reason: string
}

export interface StreamBatch {
  entries: StreamEntry[]
  unreadable: UnreadableEntry[]
}

type RawEntry = [id: Buffer, fields: Buffer[] | null]

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
      const batch: StreamBatch = { entries: [], unreadable: [] }
      for (const [key, entries] of (found ?? []) as [Buffer, RawEntry[]][]) {
        readEntries(streams.get(key.toString()) ?? 0, entries, batch)
      }
      return batch
    },
    async readPending(countMax, idleMs) {
      const batch: StreamBatch = { entries: [], unreadable: [] }
      for (const [key, partition] of streams) {
        const [, entries] = (await guard(
          client.callBuffer(
            ...['XAUTOCLAIM', key, GROUP, consumer, String(idleMs), '0'],
            ...['COUNT', String(countMax)],
          ) as Promise<unknown>,
        )) as [Buffer, RawEntry[]]
        readEntries(partition, entries, batch)
      }
      return batch
    },
    async acknowledge(entries) {
      const pipeline = client.pipeline()
      for (const [partition, ids] of groupIds(entries)) {
        // In this order: what is acknowledged but still there would never be seen again.
        pipeline.xdel(ledger.keys.stream(partition), ...ids)
        pipeline.xack(ledger.keys.stream(partition), GROUP, ...ids)
      }
      await guard(pipeline.exec())
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
  const replies = (await ledger.redis.guard(ledger.redis.client.pipeline(commands).exec())) ?? []
  let sum = 0
  for (const [error, count] of replies) {
    if (error !== null) throw error
    sum += Number(count)
  }
  return sum
}

function partitionStreams(ledger: Ledger): Map<string, number> {
  const streams = new Map<string, number>()
  for (let partition = 0; partition < ledger.keys.partitions; partition += 1) {
    streams.set(ledger.keys.stream(partition), partition)
  }
  return streams
}

function ignoreExistingGroup(error: unknown): void {
  if (!(error instanceof Error) || !error.message.startsWith('BUSYGROUP')) throw error
}

function readEntries(partition: number, raw: readonly RawEntry[], into: StreamBatch): void {
  for (const [id, fields] of raw) {
    // A deleted entry can still be pending: there is nothing left to record.
    if (fields === null) continue
    try {
      into.entries.push(readEntry(partition, id.toString(), fields))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      into.unreadable.push({ partition, id: id.toString(), reason })
    }
  }
}

/** Fields: `r` the record, `aid:sid` a state, `aid:sid:session key` a session (lua/commit.lua). */
function readEntry(partition: number, id: string, fields: Buffer[]): StreamEntry {
  const entry: StreamEntry = { partition, id, owners: [], lines: [], operations: [] }
  for (let index = 0; index + 1 < fields.length; index += 2) {
    const name = String(fields[index])
    const value = fields[index + 1] as Buffer
    if (name === 'r') {
      if (value.length > 0) takeRecord(entry, unpackRecord(value))
      continue
    }
    const [aid, sid, sessionKey] = name.split(':')
    if (sessionKey === undefined) entry.owners.push(unpackOwner(Number(aid), Number(sid), value))
    else entry.lines.push(...openLines(unpackSession(Number(aid), Number(sid), value), sessionKey))
  }
  return entry
}

function takeRecord(entry: StreamEntry, record: StreamRecord): void {
  entry.lines.push(...record.lines)
  entry.operations.push(...record.operations)
}

/** The lines of the segments that a session has open: they stand in it whole. */
function openLines(session: Session, sessionKey: string): Line[] {
  return session.services.flatMap((service, index) => {
    const { segment } = service
    if (segment === null || segment.used === 0) return []
    const tag = serviceTagOf(sessionKey, session, index)
    return [lineOf(session, service, { segment, state: 'open' }, tag)]
  })
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
