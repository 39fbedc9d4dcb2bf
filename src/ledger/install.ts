/**
 * What is fixed when a ledger is installed: every process has to agree on it, or units are lost.
 * Its data begins an epoch, which stands in every partition and, on record, outside of Redis: so a
 * Redis that lost it is told from one that is new (design.md §3).
 */
import { randomBytes } from 'node:crypto'
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import { partitionsOf } from './epochs.ts'
import { createKeys, type LedgerKeys } from './keys.ts'

/** The ledger in this Redis was installed with other settings than this process has. */
export class LedgerMismatchError extends Error {
  override name = 'LedgerMismatchError'
}

/** Remembers the epoch where a lost Redis cannot take it along. */
export interface EpochRecord {
  /** Null if no ledger was ever installed. */
  read(): Promise<string | null>
  write(epoch: string): Promise<void>
}

/** Which partitions have their data. `lost` is empty where all is well. */
export interface LedgerState {
  /** Of the data that is there, or else of the record; null: nothing was ever installed. */
  epoch: string | null
  lost: number[]
}

/**
 * Looks at every partition and the record, and writes nothing. Throws what they throw, or
 * `LedgerMismatchError`.
 */
export async function inspectLedger(
  redis: RedisConnection,
  partitions: number,
  record: EpochRecord,
): Promise<LedgerState> {
  const keys = createKeys(partitions)
  const found = await readEpochs(redis, keys)
  const lost = [...found.keys()].filter((partition) => found[partition] === null)
  const there = found.find((epoch) => epoch !== null) ?? null
  const epoch = there ?? (await record.read())
  // First, and without a note: an empty Redis would take any number for its own.
  const installed = epoch === null ? null : partitionsOf(epoch)
  if (installed !== null) compare('partitions', partitions, String(installed))
  const noted = await redis.guard(redis.client.hgetall(keys.meta))
  for (const [field, value] of settingsOf(keys)) compare(field, value, noted[field] ?? null)
  return { epoch, lost }
}

/**
 * Installs the ledger where there never was one, or holds this process' settings against those of
 * the one that is there. Gives the partitions whose data is lost; there nothing is charged until
 * it is rebuilt. Throws `LedgerMismatchError`, `StoreDownError`, or what the record throws.
 */
export async function ensureLedger(
  redis: RedisConnection,
  partitions: number,
  record: EpochRecord,
): Promise<number[]> {
  const state = await inspectLedger(redis, partitions, record)
  const { epoch } = state
  const isNew = epoch === null
  await storeSettings(redis, createKeys(partitions))
  // Redis first: a process that dies in between leaves an installation that the next one completes.
  const current = isNew ? await install(redis, partitions, nextEpoch(null, partitions)) : epoch
  // The record may be away: whoever finds it missing later writes it.
  const noted = recordOnce(record, current)
  await (isNew ? noted : noted.catch(() => undefined))
  if (isNew || state.lost.length === 0) return []
  // Another process may have been installing it while we looked.
  return (await inspectLedger(redis, partitions, record)).lost
}

async function recordOnce(record: EpochRecord, epoch: string): Promise<void> {
  if ((await record.read()) === null) await record.write(epoch)
}

/**
 * `<number>-<partitions>-<random>`: the number counts the rebuilds, the rest tells installations
 * apart.
 */
export function nextEpoch(before: string | null, partitions: number): string {
  const number = Number(before?.split('-')[0] ?? 0) + 1
  return `${number}-${partitions}-${randomBytes(6).toString('hex')}`
}

/**
 * Begins an epoch in the partitions that have none; the first one last, since on a single Redis it
 * stands for all. Gives the epoch that stands: another process may have been faster.
 */
async function install(redis: RedisConnection, partitions: number, epoch: string): Promise<string> {
  const { client, guard } = redis
  const keys = createKeys(partitions)
  const first = keys.epoch(0)
  await beginEpoch(redis, keys, all(partitions), epoch)
  const standing = await guard(client.get(first))
  if (standing === null) throw new StoreDownError('redis has lost what was just written')
  if (standing === epoch) return epoch
  for (let partition = 0; partition < partitions; partition += 1) {
    await guard(client.set(keys.epoch(partition), standing))
  }
  return standing
}

/** Makes the data of these partitions that of an epoch, where none has begun yet. */
export async function beginEpoch(
  redis: RedisConnection,
  keys: LedgerKeys,
  partitions: readonly number[],
  epoch: string,
): Promise<void> {
  for (const partition of [...partitions].sort((a, b) => b - a)) {
    await redis.guard(redis.client.set(keys.epoch(partition), epoch, 'NX'))
  }
}

function all(partitions: number): number[] {
  return Array.from({ length: partitions }, (_, partition) => partition)
}

async function readEpochs(redis: RedisConnection, keys: LedgerKeys): Promise<(string | null)[]> {
  const found = all(keys.partitions).map((partition) => redis.client.get(keys.epoch(partition)))
  return redis.guard(Promise.all(found))
}

/** Partitions whose data is not there. Throws `StoreDownError`. */
export async function lostPartitions(
  redis: RedisConnection,
  partitions: number,
): Promise<number[]> {
  const found = await readEpochs(redis, createKeys(partitions))
  return [...found.keys()].filter((partition) => found[partition] === null)
}

/**
 * Stores partitions and format unless they are stored. Throws `LedgerMismatchError` if other values
 * are.
 */
export async function storeSettings(redis: RedisConnection, keys: LedgerKeys): Promise<void> {
  const { client, guard } = redis
  const before = await guard(client.hgetall(keys.meta))
  for (const [field, value] of settingsOf(keys)) {
    // No write where nothing changes: a Redis with a full disk refuses it.
    if (before[field] === String(value)) continue
    if ((await guard(client.hsetnx(keys.meta, field, String(value)))) === 1) continue
    compare(field, value, await guard(client.hget(keys.meta, field)))
  }
}

/** Of the packed values; a process refuses a ledger with another format. */
const LEDGER_FORMAT = 1

function settingsOf({ partitions }: LedgerKeys): [field: string, value: number][] {
  return [
    ['partitions', partitions],
    ['format', LEDGER_FORMAT],
  ]
}

function compare(field: string, value: number, noted: string | null): void {
  if (noted === null || noted === String(value)) return
  const name = field === 'partitions' ? 'ledger.partitions' : `ledger ${field}`
  throw new LedgerMismatchError(
    `${name} is ${value}, but this ledger was installed with ${noted}: it cannot be changed`,
  )
}
