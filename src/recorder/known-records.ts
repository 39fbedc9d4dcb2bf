/**
 * Versions of records that the recorder has stored and need not write again, and contents of
 * buckets while it is the only recorder. Bounded; a record that was forgotten is written once more,
 * which changes nothing.
 */
import { projectedBuckets } from '../catalog/records/usage/balance-document.ts'
import type { Bucket, OwnerState } from '../domain/bucket.ts'
import { type FlushRecords, ownerKey } from './coalesce.ts'

const LINES_MAX = 100_000
const OWNERS_MAX = 50_000

interface KnownOwner {
  readonly version: number
  /** Contents of the documents of its buckets (`contentOf`). */
  readonly contents: readonly string[]
}

export class KnownRecords {
  /** Versions by stamp. Operations have version 1. */
  readonly #lines = new RecentMap<number>(LINES_MAX)
  /** By `ownerKey`. */
  readonly #owners = new RecentMap<KnownOwner>(OWNERS_MAX)
  #isAlone = false
  #tenure = 0

  /** Distinguishes the times for which this has been the only recorder; 0 while it is not. */
  get tenure(): number {
    return this.#isAlone ? this.#tenure : 0
  }

  /** Another recorder may store other contents in between: then they are not known. */
  setAlone(isAlone: boolean): void {
    if (isAlone === this.#isAlone) return
    this.#isAlone = isAlone
    this.#tenure += 1
    this.#owners.clear()
  }

  hasLine(stamp: string, version: number): boolean {
    return (this.#lines.get(stamp) ?? -1) >= version
  }

  /** Whether any version of the line was stored. */
  hasAnyLine(stamp: string): boolean {
    return this.#lines.get(stamp) !== undefined
  }

  hasOwner({ aid, sid, version }: OwnerState): boolean {
    return (this.#owners.get(ownerKey({ aid, sid }))?.version ?? -1) >= version
  }

  /** Whether the stored document of the bucket differs from a new one by its version at most. */
  hasBucket(owner: OwnerState, bucket: Bucket): boolean {
    const known = this.#owners.get(ownerKey(owner))
    return known?.contents.includes(contentOf(owner, bucket)) ?? false
  }

  /**
   * To be called when all records of a flush are stored. `tenure`: when its entries were read;
   * contents are remembered only if it has not ended since.
   */
  add({ lines, operations, owners }: FlushRecords, tenure: number): void {
    const hasContents = tenure !== 0 && tenure === this.tenure
    for (const { stamp, version } of lines.values()) this.#lines.set(stamp, version)
    for (const stamp of operations.keys()) this.#lines.set(stamp, 1)
    for (const [key, owner] of owners) {
      const buckets = hasContents ? projectedBuckets(owner) : []
      const contents = buckets.map((each) => contentOf(owner, each))
      this.#owners.set(key, { version: owner.version, contents })
    }
  }

  /** After an outage: MongoDB may have lost writes, or may be another one. */
  clear(): void {
    this.#lines.clear()
    this.#owners.clear()
  }
}

/**
 * All values from which the document of a bucket is made, except the version. Joined to one text: a
 * template would keep a tree of its parts, ten times as large.
 */
function contentOf({ owed, repaid, nextBucketId }: OwnerState, bucket: Bucket): string {
  const { id, credited, spent, free, reserved, limit, priority, fromMs, toMs } = bucket
  const { prepaidIncludeId, kind, usaget, counter } = bucket
  const amounts = [id, spent, free, reserved, credited, limit, owed, repaid, nextBucketId]
  const terms = [priority, fromMs, toMs, prepaidIncludeId, kind, usaget, counter]
  return [...amounts, ...terms].join(' ')
}

/** Keeps at least the `size` entries that were set last, in two generations. */
class RecentMap<T> {
  readonly #size: number
  #young = new Map<string, T>()
  #old = new Map<string, T>()

  constructor(size: number) {
    this.#size = size
  }

  get(key: string): T | undefined {
    return this.#young.get(key) ?? this.#old.get(key)
  }

  set(key: string, value: T): void {
    if (this.#young.size >= this.#size && !this.#young.has(key)) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(key, value)
  }

  clear(): void {
    this.#young = new Map()
    this.#old = new Map()
  }
}
