/**
 * Every Redis key of the ledger. Nearly all carry the hash tag of a partition, `{p<N>}`: keys of an
 * account carry the tag of the account, a directory entry carries one derived from the session key.
 */
import { hash } from 'node:crypto'

/** 22 characters of base64url are 132 bits. */
const SESSION_KEY_LENGTH = 22

export interface LedgerKeys {
  partitions: number
  partitionOf(aid: number): number
  /**
   * Hash with the owners and sessions of an account, by the fields below, and its back-off hint,
   * `t`.
   */
  account(aid: number): string
  /** Sorted set of open sessions by expiry. */
  expiry(partition: number): string
  /** Sorted set of closed sessions by the time at which their tombstones are removed. */
  tombstones(partition: number): string
  /** Lock of the sweeper that processes a batch of the partition. */
  sweepLease(partition: number): string
  /** Stream of commits for the recorder. */
  stream(partition: number): string
  /** Stored result of an operation. */
  operation(aid: number, operationId: string): string
  /**
   * Partition of a session's directory entry. It is derived from the session key, since the account
   * is unknown at lookup.
   */
  directoryPartitionOf(sessionKey: string): number
  directory(sessionKey: string): string
  /** Epoch of a partition's data; see install.ts. */
  epoch(partition: number): string
  /** Number of partitions and format, fixed at installation. */
  meta: string
  /** Written to wait for the replicas; see ledger.ts. */
  mark(partition: number): string
  /** Lock of the process that rebuilds a lost ledger. */
  rebuildLock: string
  /** Hash: heartbeats of the recorders; see recorders.ts. */
  recorders: string
}

/** `partitions` is a power of two, fixed at installation. */
export function createKeys(partitions: number): LedgerKeys {
  const tags = Array.from({ length: partitions }, (_, index) => `{p${index}}`)
  const tag = (partition: number) => tags[partition] ?? ''
  const partitionOf = (aid: number) => aid % partitions
  const directoryPartitionOf = (sessionKey: string) =>
    Buffer.from(sessionKey.slice(0, 4), 'base64url').readUInt16BE() % partitions
  return {
    partitions,
    partitionOf,
    account: (aid) => `${tag(partitionOf(aid))}:a:${aid}`,
    expiry: (partition) => `${tag(partition)}:x`,
    tombstones: (partition) => `${tag(partition)}:t`,
    sweepLease: (partition) => `${tag(partition)}:x:lease`,
    stream: (partition) => `${tag(partition)}:l`,
    operation: (aid, operationId) => `${tag(partitionOf(aid))}:op:${aid}:${digest(operationId)}`,
    directoryPartitionOf,
    directory: (sessionKey) => `${tag(directoryPartitionOf(sessionKey))}:d:${sessionKey}`,
    epoch: (partition) => `${tag(partition)}:e`,
    meta: 'tollgate:ledger',
    mark: (partition) => `${tag(partition)}:m`,
    rebuildLock: 'tollgate:rebuild',
    recorders: 'tollgate:recorders',
  }
}

/**
 * Key of a session in the ledger: 22 characters, regardless of the length of the network element's
 * session id.
 */
export function sessionKeyOf(origin: string, sessionId: string): string {
  return digest(`${origin}\u0000${sessionId}`)
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, SESSION_KEY_LENGTH)
}

/** Prefixes of the fields with an owner's state and profile fence; its sid follows. */
export const STATE_PREFIX = 's:'
export const FENCE_PREFIX = 'p:'

/** Field with the state of an owner; sid 0: the shared buckets of the account. */
export function stateField(sid: number): string {
  return `${STATE_PREFIX}${sid}`
}

/** Field with the profile fence of an owner. */
export function fenceField(sid: number): string {
  return `${FENCE_PREFIX}${sid}`
}

/** Field with a session of a subscriber. */
export function sessionField(sid: number, sessionKey: string): string {
  return `${sid}:${sessionKey}`
}

/** Member of a session in the sorted sets of its partition. */
export function indexMember(aid: number, sid: number, sessionKey: string): string {
  return `${aid}:${sid}:${sessionKey}`
}

/** Parses a member written by `indexMember`; null if it is not one. */
export function parseMember(
  member: string,
): { aid: number; sid: number; sessionKey: string } | null {
  const match = /^(\d+):(\d+):([\w-]{22})$/.exec(member)
  if (match === null) return null
  return { aid: Number(match[1]), sid: Number(match[2]), sessionKey: match[3] ?? '' }
}
