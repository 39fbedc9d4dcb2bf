/**
 * Settings that are fixed when a ledger is installed: all processes must agree on them, otherwise
 * units are lost. Installing also begins an epoch, which is stored in every partition and on record
 * outside of Redis. This distinguishes a Redis that lost its data from a new one.
 */
import { randomBytes } from 'node:crypto'
import { type RedisConnection, StoreDownError } from '../store/redis.ts'
import { partitionsOf } from './epochs.ts'
import { createKeys, type LedgerKeys } from './keys.ts'

/** The ledger in this Redis was installed with settings that differ from those of this process. */
export class LedgerMismatchError extends Error {
  override name = 'LedgerMismatchError'
}

/** Stores the epoch outside of Redis. */
export interface EpochRecord {
  /** Null if no ledger was ever installed. */
  read(): Promise<string | null>
  write(epoch: string): Promise<void>
}

/** The epoch and the partitions without data; `lost` is empty if all have data. */
export interface LedgerState {
  /** Epoch of the existing data, otherwise of the record; null if no ledger was ever installed. */
  epoch: string | null
  lost: number[]
}

/**
 * Reads every partition and the record, and writes nothing. Throws `StoreDownError`, what the
 * record throws, or `LedgerMismatchError`.
 */
export async function inspectLedger(
  redis: RedisConnection,
  partitions: number,
  record: EpochRecord,
): Promise<LedgerState> {
  const keys = createKeys(partitions)
  const found = await readEpochs(redis, keys)
  const lost = [...found.keys()].filter((partition) => found[partition] === null)
  const existing = found.find((epoch) => epoch !== null) ?? null
  const epoch = existing ?? (await record.read())
  // Compare with the epoch first: an empty Redis has no stored settings and would accept any
  // number.
  const installed = epoch === null ? null : partitionsOf(epoch)
  if (installed !== null) compare('partitions', partitions, String(installed))
  const stored = await redis.guard(redis.client.hgetall(keys.meta))
  for (const [field, value] of settingsOf(keys)) compare(field, value, stored[field] ?? null)
  return { epoch, lost }
}

/**
 * Installs the ledger if there never was one, otherwise compares its settings with those of this
 * process. Returns the partitions whose data is lost; nothing is charged there until they are
 * rebuilt. Throws `LedgerMismatchError`, `StoreDownError`, or what the record throws.
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
  // Redis first: an installation that is interrupted here is completed by the next process.
  const current = isNew ? await install(redis, partitions, nextEpoch(null, partitions)) : epoch
  // The record may be unavailable: a later process that finds it missing writes it.
  const recording = recordOnce(record, current)
  await (isNew ? recording : recording.catch(() => undefined))
  if (isNew || state.lost.length === 0) return []
  // Another process may have installed the ledger meanwhile.
  return (await inspectLedger(redis, partitions, record)).lost
}

async function recordOnce(record: EpochRecord, epoch: string): Promise<void> {
  if ((await record.read()) === null) await record.write(epoch)
}

/**
 * `<number>-<partitions>-<random>`: the number counts rebuilds, the random part distinguishes
 * installations.
 */
export function nextEpoch(before: string | null, partitions: number): string {
  const number = Number(before?.split('-')[0] ?? 0) + 1
  return `${number}-${partitions}-${randomBytes(6).toString('hex')}`
}

/**
 * Begins an epoch in the partitions that have none; in the first one last, since it represents all
 * on a single Redis. Returns the effective epoch: another process may have been faster.
 */
async function install(redis: RedisConnection, partitions: number, epoch: string): Promise<string> {
  const { client, guard } = redis
  const keys = createKeys(partitions)
  const first = keys.epoch(0)
  await beginEpoch(redis, keys, all(partitions), epoch)
  const effective = await guard(client.get(first))
  if (effective === null) throw new StoreDownError('redis has lost what was just written')
  if (effective === epoch) return epoch
  for (let partition = 0; partition < partitions; partition += 1) {
    await guard(client.set(keys.epoch(partition), effective))
  }
  return effective
}

/** Begins an epoch in these partitions unless they have one. */
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

/** Partitions without data. Throws `StoreDownError`. */
export async function lostPartitions(
  redis: RedisConnection,
  partitions: number,
): Promise<number[]> {
  const found = await readEpochs(redis, createKeys(partitions))
  return [...found.keys()].filter((partition) => found[partition] === null)
}

/**
 * Stores the number of partitions and the format if they are not stored yet. Throws
 * `LedgerMismatchError` if other values are stored.
 */
export async function storeSettings(redis: RedisConnection, keys: LedgerKeys): Promise<void> {
  const { client, guard } = redis
  const before = await guard(client.hgetall(keys.meta))
  for (const [field, value] of settingsOf(keys)) {
    // Skip unchanged values: a Redis with a full disk refuses writes.
    if (before[field] === String(value)) continue
    if ((await guard(client.hsetnx(keys.meta, field, String(value)))) === 1) continue
    compare(field, value, await guard(client.hget(keys.meta, field)))
  }
}

/** Format of the packed values; a process refuses a ledger with another format. */
const LEDGER_FORMAT = 2

function settingsOf({ partitions }: LedgerKeys): [field: string, value: number][] {
  return [
    ['partitions', partitions],
    ['format', LEDGER_FORMAT],
  ]
}

function compare(field: string, value: number, installed: string | null): void {
  if (installed === null || installed === String(value)) return
  const name = field === 'partitions' ? 'ledger.partitions' : `ledger ${field}`
  throw new LedgerMismatchError(
    `${name} is ${value}, but this ledger was installed with ${installed}: it cannot be changed`,
  )
}
