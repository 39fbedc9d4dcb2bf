/** A ledger on a real Redis, with minimal values. */
import { randomInt } from 'node:crypto'
import type { Bucket, OwnerState } from '../../../src/domain/bucket.ts'
import type { OperationLine } from '../../../src/domain/line.ts'
import type { Session } from '../../../src/domain/session.ts'
import { FOREVER_MS } from '../../../src/domain/time.ts'
import type { AccountCommit } from '../../../src/ledger/commit-layout.ts'
import { sessionKeyOf } from '../../../src/ledger/keys.ts'
import type { Ledger, LoadedOwner } from '../../../src/ledger/ledger.ts'
import type { Flat } from '../domain/lines.ts'
import { moneyOf } from '../domain/owners.ts'
import { sessionOf as openSessionOf } from '../domain/requests.ts'
import { openTestLedger } from '../ledger.ts'
import { connectRedis, startTestRedis } from '../redis.ts'
import { NOW_MS } from '../workers/processor-fixture.ts'

export const SETTINGS = { partitions: 4, directoryTtlMs: 3_600_000, operationKeepMs: 60_000 }
export const REPLAY_MS = 600_000

export interface OpenLedger extends Ledger {
  close(): Promise<void>
}

export async function openLedger(url: string): Promise<OpenLedger> {
  const redis = await connectRedis(url)
  const ledger = await openTestLedger(redis, SETTINGS, randomInt(1, 2 ** 47))
  return { ...ledger, close: () => redis.close() }
}

/** A Redis with the ledgers of two workers. */
export async function openTwoLedgers() {
  const redis = await startTestRedis({ appendfsync: 'everysec' })
  const [ledger, other] = [await openLedger(redis.url), await openLedger(redis.url)]
  const close = async () => {
    await Promise.all([ledger.close(), other.close()])
    await redis.close()
  }
  return { ledger, other, close }
}

/** A bucket of money for any usage, in micros. */
export const bucketOf = moneyOf

export function ownerOf(sid: number, version: number, buckets: Bucket[], aid = 1): OwnerState {
  return { aid, sid, version, nextBucketId: buckets.length + 1, owed: 0, repaid: 0, buckets }
}

export function keyOf(sessionId: string): string {
  return sessionKeyOf('test', sessionId)
}

export function sessionOf(
  sid: number,
  sessionId: string,
  more: Partial<Flat<Session>> = {},
): Session {
  const times = { openedMs: NOW_MS, expiresMs: NOW_MS + 1000 }
  return openSessionOf({ sid, sessionId, ...times, lastNumber: 0, processed: 1, ...more })
}

export function operationOf(operationId: string, amount: number): OperationLine {
  return {
    stamp: `op-1-${operationId}`,
    aid: 1,
    sid: 1,
    operationId,
    operation: 'inc',
    bucketId: 1,
    prepaidIncludeId: 1,
    kind: 'money',
    usaget: '',
    amount,
    before: 0,
    after: amount,
    repaid: 0,
    atMs: NOW_MS,
    version: 1,
    priority: 0,
    fromMs: 0,
    toMs: FOREVER_MS,
  }
}

/** A commit of account 1 that writes nothing yet. */
export function commitOf(more: Partial<AccountCommit>): AccountCommit {
  return {
    aid: 1,
    owners: [],
    shared: { expectedVersion: -1, state: null },
    registrations: [],
    operation: null,
    lines: [],
    backoffHintMs: 0,
    ...more,
  }
}

/** Writes one state of a subscriber, with its sessions. */
export function writing(
  state: OwnerState,
  more: Partial<AccountCommit> = {},
  sessions: AccountCommit['owners'][number]['sessions'] = [],
): AccountCommit {
  return commitOf({ aid: state.aid, owners: [{ state, fence: -1, sessions }], ...more })
}

/** Credits a bucket by an operation, as the first version of the owner. */
export async function seed(ledger: Ledger, sid: number, credited: number, aid = 1): Promise<void> {
  const state = ownerOf(sid, 1, [bucketOf(credited)], aid)
  const operation = { result: operationOf(`seed-${aid}-${sid}`, credited) }
  const [reply] = await ledger.commit([writing(state, { operation })], NOW_MS)
  if (reply?.kind !== 'committed') throw new Error(`seed: ${JSON.stringify(reply)}`)
}

export async function loadOne(
  ledger: Ledger,
  sid: number,
  sessionKeys: string[] = [],
  aid = 1,
): Promise<LoadedOwner> {
  const [loaded] = await ledger.load([{ aid, sid, sessionKeys }])
  if (loaded === undefined || loaded instanceof Error) throw loaded ?? new Error('nothing loaded')
  return loaded
}

/** Every key with its content, to check that nothing was written. */
export async function contents({ redis }: Ledger): Promise<Map<string, string>> {
  const all = new Map<string, string>()
  for (const key of (await redis.client.keys('*')).sort()) {
    const dump = await redis.client.dumpBuffer(key)
    all.set(key, dump?.toString('base64') ?? '')
  }
  return all
}
