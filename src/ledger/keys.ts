/**
 * Every Redis key of the ledger. Nearly all carry the hash tag of a partition, `{p<N>}`: what
 * belongs to an account that of the account's, and the home of a session one by the session's key.
 */
import { hash } from 'node:crypto'

/** 22 characters of base64url are 132 bits. */
const SESSION_KEY_LENGTH = 22

export interface LedgerKeys {
  partitions: number
  partitionOf(aid: number): number
  /** Hash: `s` state, `p` profile fence, `t` turn (sid 0 only), and a field per session. */
  owner(aid: number, sid: number): string
  /** Sorted set of open sessions by expiry. */
  expiry(partition: number): string
  /** Sorted set of closed sessions by the time at which they are forgotten. */
  tombstones(partition: number): string
  /** Which sweeper has the partition for its batch. */
  sweepLease(partition: number): string
  /** Stream of what changed, for the recorder. */
  stream(partition: number): string
  /** Stored result of an operation, by its id. */
  operation(aid: number, operationId: string): string
  /** Partition of a session's home: only the account would tell where the session is. */
  directoryPartitionOf(sessionKey: string): number
  directory(sessionKey: string): string
  /** Epoch of a partition's data (install.ts). */
  epoch(partition: number): string
  /** Partitions and format, fixed at install. */
  meta: string
  /** Written to see whether the replicas keep up (confirm.ts). */
  mark(partition: number): string
  /** Held by whoever rebuilds a lost ledger. */
  rebuildLock: string
}

/** `partitions`: a power of two, fixed at install. */
export function createKeys(partitions: number): LedgerKeys {
  const tags = Array.from({ length: partitions }, (_, index) => `{p${index}}`)
  const tag = (partition: number) => tags[partition] ?? ''
  const partitionOf = (aid: number) => aid % partitions
  const directoryPartitionOf = (sessionKey: string) =>
    Buffer.from(sessionKey.slice(0, 4), 'base64url').readUInt16BE() % partitions
  return {
    partitions,
    partitionOf,
    owner: (aid, sid) => `${tag(partitionOf(aid))}:o:${aid}:${sid}`,
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
  }
}

/**
 * Names a session in the ledger: 22 characters, whatever the length of the network element's id.
 */
export function sessionKeyOf(origin: string, sessionId: string): string {
  return digest(`${origin}\u0000${sessionId}`)
}

function digest(text: string): string {
  return hash('sha256', text, 'base64url').slice(0, SESSION_KEY_LENGTH)
}

/** A session within its partition's sorted sets. */
export function indexMember(aid: number, sid: number, sessionKey: string): string {
  return `${aid}:${sid}:${sessionKey}`
}

/** Reads what `indexMember` wrote; null if it is none of ours. */
export function parseMember(
  member: string,
): { aid: number; sid: number; sessionKey: string } | null {
  const match = /^(\d+):(\d+):([\w-]{22})$/.exec(member)
  if (match === null) return null
  return { aid: Number(match[1]), sid: Number(match[2]), sessionKey: match[3] ?? '' }
}
