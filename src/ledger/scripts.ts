/** Declarations of the scripts of the ledger. lua/<name>.lua documents what they do. */

import { assert } from '../domain/assert.ts'
import type { ScriptValue } from '../store/script-command.ts'
import { REPLY } from './replies.ts'
import { defineScript } from './script.ts'

/** The epoch that the caller expects in a partition, and the key where it is stored. */
export interface Epoch {
  key: string
  text: string
}

/** Keys and arguments of a commit, encoded by commit-layout.ts. */
export interface CommitCall {
  keys: string[]
  args: ScriptValue[]
  accounts: number
}

/** One code if all accounts are committed, otherwise a reply per account. */
export type CommitReplies = typeof REPLY.COMMITTED | (number | unknown[])[]

export const commitScript = defineScript<CommitCall, CommitReplies>({
  name: 'commit',
  isDurable: true,
  keys: (call) => call.keys,
  args: (call) => call.args,
  reply: (raw, call) => (raw === REPLY.COMMITTED ? raw : readReplies(raw, call.accounts)),
})

export interface LoadCall {
  epoch: Epoch
  /** Account of each owner, and the fields of its state, fence and sessions. */
  owners: { key: string; fields: readonly string[] }[]
}

export const loadScript = defineScript<LoadCall, unknown[][]>({
  name: 'load',
  keys: ({ epoch, owners }) => [epoch.key, ...owners.map((owner) => owner.key)],
  args: ({ epoch, owners }) => [
    epoch.text,
    ...owners.flatMap(({ fields }) => [fields.length, ...fields]),
  ],
  reply: (raw, call) => readReplies(raw, call.owners.length) as unknown[][],
})

export const expiredScript = defineScript<
  {
    expiry: string
    tombstones: string
    lease: string
    nowMs: number
    leaseMs: number
    limit: number
    token: string
  },
  { expired: string[]; forgettable: string[] } | null
>({
  name: 'expired',
  keys: (call) => [call.expiry, call.tombstones, call.lease],
  args: (call) => [call.nowMs, call.leaseMs, call.limit, call.token],
  reply: (raw) => {
    if (raw === null) return null
    const [expired, forgettable] = readReplies(raw, 2)
    return { expired: readMembers(expired), forgettable: readMembers(forgettable) }
  },
})

export const forgetScript = defineScript<
  {
    tombstones: string
    expiry: string
    nowMs: number
    members: { member: string; account: string; field: string }[]
  },
  number
>({
  name: 'forget',
  keys: (call) => [call.tombstones, call.expiry, ...call.members.map(({ account }) => account)],
  args: (call) => [call.nowMs, ...call.members.flatMap(({ member, field }) => [member, field])],
  reply: readCount,
})

export const reindexScript = defineScript<
  {
    index: string
    lease: string
    nowMs: number
    token: string
    members: { member: string; score: number }[]
  },
  number
>({
  name: 'reindex',
  keys: (call) => [call.index, call.lease],
  args: (call) => [
    call.nowMs,
    call.token,
    ...call.members.flatMap(({ member, score }) => [score, member]),
  ],
  reply: readCount,
})

export const fenceScript = defineScript<
  { account: string; field: string; dirty: boolean; nowMs: number },
  Buffer | null
>({
  name: 'fence',
  keys: (call) => [call.account],
  args: (call) => [call.field, call.dirty ? 1 : 0, call.nowMs],
  reply: readOptional,
})

export interface DirectoryRegistration {
  key: string
  location: string
  /** Location that the registration may replace. */
  expected: string
  ttlMs: number
}

export const openDirectoryScript = defineScript<
  { epoch: Epoch; registrations: DirectoryRegistration[]; nowMs: number },
  (number | unknown[])[]
>({
  name: 'open_directory',
  isDurable: true,
  keys: ({ epoch, registrations }) => [epoch.key, ...registrations.map(({ key }) => key)],
  args: ({ epoch, registrations, nowMs }) => [
    epoch.text,
    nowMs,
    ...registrations.flatMap(({ location, expected, ttlMs }) => [location, expected, ttlMs]),
  ],
  reply: (raw, call) => readReplies(raw, call.registrations.length),
})

export const restoreOwnersScript = defineScript<
  {
    epoch: string
    stream: string
    fence: number
    owners: { key: string; name: string; sid: number; state: Buffer }[]
    operations: { key: string; ttlMs: number; result: Buffer }[]
  },
  number
>({
  name: 'restore_owners',
  isDurable: true,
  keys: ({ epoch, stream, owners, operations }) => [
    epoch,
    stream,
    ...[...owners, ...operations].map(({ key }) => key),
  ],
  args: ({ owners, fence, operations }) => [
    owners.length,
    fence,
    ...owners.flatMap(({ name, sid, state }) => [name, sid, state]),
    ...operations.flatMap(({ ttlMs, result }) => [ttlMs, result]),
  ],
  reply: readCount,
})

interface StoredResult {
  key: string
  ttlMs: number
  result: Buffer
}

export const mendOwnersScript = defineScript<
  {
    epoch: Epoch
    stream: string
    operation: StoredResult
    record: Buffer
    account: string
    owners: {
      name: string
      field: string
      before: number
      state: Buffer
      sessions: { field: string; packed: Buffer }[]
    }[]
    lostResults: StoredResult[]
  },
  number
>({
  name: 'mend_owners',
  isDurable: true,
  keys: ({ epoch, stream, operation, account, lostResults }) => [
    epoch.key,
    stream,
    operation.key,
    account,
    ...lostResults.map(({ key }) => key),
  ],
  args: ({ epoch, operation, record, owners, lostResults }) => [
    epoch.text,
    owners.length,
    operation.ttlMs,
    operation.result,
    record,
    ...owners.flatMap(({ name, field, before, state, sessions }) => [
      name,
      field,
      before,
      state,
      sessions.length,
      ...sessions.flatMap((session) => [session.field, session.packed]),
    ]),
    ...lostResults.flatMap(({ ttlMs, result }) => [ttlMs, result]),
  ],
  reply: readCount,
})

export const renewLockScript = defineScript<{ lock: string; token: string; ttlMs: number }, number>(
  {
    name: 'renew_lock',
    keys: (call) => [call.lock],
    args: (call) => [call.token, call.ttlMs],
    reply: readCount,
  },
)

export const confirmScript = defineScript<{ epoch: Epoch; mark: string }, number>({
  name: 'confirm',
  isDurable: true,
  keys: ({ epoch, mark }) => [epoch.key, mark],
  args: ({ epoch }) => [epoch.text],
  reply: readCount,
})

export const isolateAccountsScript = defineScript<
  { stream: string; group: string; id: string; accounts: (readonly Buffer[])[] },
  number
>({
  name: 'isolate_accounts',
  keys: (call) => [call.stream],
  args: ({ group, id, accounts }) => [
    group,
    id,
    ...accounts.flatMap((fields) => [fields.length / 2, ...fields]),
  ],
  reply: readCount,
})

/** All scripts, for the test that compares their headers, declarations and bodies. */
export const allScripts = [
  commitScript,
  confirmScript,
  openDirectoryScript,
  loadScript,
  expiredScript,
  forgetScript,
  reindexScript,
  fenceScript,
  restoreOwnersScript,
  mendOwnersScript,
  renewLockScript,
  isolateAccountsScript,
]

// A raw reply of a shape that its script cannot return is a broken invariant.
function readReplies(raw: unknown, count: number): (number | unknown[])[] {
  assert(Array.isArray(raw) && raw.length === count, `expected ${count} replies`)
  return raw as (number | unknown[])[]
}

function readMembers(raw: unknown): string[] {
  assert(Array.isArray(raw), 'expected a list of members')
  return raw.map(String)
}

function readCount(raw: unknown): number {
  assert(Number.isSafeInteger(raw), 'expected an integer')
  return raw as number
}

function readOptional(raw: unknown): Buffer | null {
  assert(raw === null || Buffer.isBuffer(raw), 'expected a value or nothing')
  return raw
}
