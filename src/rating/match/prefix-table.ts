/**
 * Rates by group and prefix, for lookups of the longest prefix. Prefixes of digits are stored in
 * hash tables of numbers with one probe for each length, because a map of texts is several times
 * slower. There are many small tables: growing one copies it synchronously, which must not stall
 * the thread.
 */
import type { RateRevision } from '../../domain/catalogue.ts'
import { codeAt, lengthOf } from '../../domain/text-codes.ts'
import { type RateEntry, withoutRate, withRate } from './rate-list.ts'

/** Up to this length, the digits of a prefix with a leading 1 are an exact number. */
const DIGITS_MAX = 15
const SHARD_BITS = 6
const SLOT_FIELDS = 4

/**
 * Numbers and hashes of the prefixes of one text, by length. Written by `scan` and read
 * immediately.
 */
const keys = new Float64Array(DIGITS_MAX + 1)
const hashes = new Int32Array(DIGITS_MAX + 1)
/** Length up to which the value of the current lookup consists of digits. */
let scanned = 0
/**
 * Whether `at` found a single rate, for all plays, that is valid at the instant. Known without
 * reading the rate itself.
 */
let isSettled = false

export class PrefixTable {
  readonly #shards: (Shard | undefined)[] = new Array(1 << SHARD_BITS)
  /** Prefixes that are too long or contain other characters, by group and text. */
  readonly #others = new Map<string, RateEntry>()
  /** Maximum length of the prefixes ever added, in characters. */
  #lengthMax = 0
  #otherLengthMax = 0

  add(group: number, prefix: string, rate: RateRevision): void {
    const { length } = prefix
    if (length === 0) return
    if (scan(group, prefix, length) === length) {
      const hash = hashes[length] as number
      const shard = this.#shards[hash >>> (32 - SHARD_BITS)] ?? this.#addShard(hash)
      shard.add(keys[length] as number, group, hash, rate)
      this.#lengthMax = Math.max(this.#lengthMax, length)
      return
    }
    const key = otherKey(group, prefix)
    this.#others.set(key, withRate(this.#others.get(key), rate))
    this.#otherLengthMax = Math.max(this.#otherLengthMax, length)
  }

  remove(group: number, prefix: string, rate: RateRevision): void {
    const { length } = prefix
    if (length === 0) return
    if (scan(group, prefix, length) === length) {
      const hash = hashes[length] as number
      const shard = this.#shards[hash >>> (32 - SHARD_BITS)]
      shard?.remove(keys[length] as number, group, hash, rate)
      return
    }
    const key = otherKey(group, prefix)
    const entry = withoutRate(this.#others.get(key), rate)
    if (entry === undefined) this.#others.delete(key)
    else this.#others.set(key, entry)
  }

  /**
   * Begins a lookup. Returns the length at which to begin with `at`, downwards. There is only one
   * lookup at a time over all tables, because its state is global to avoid allocation.
   */
  begin(group: number, value: string): number {
    const length = lengthOf(value)
    const digits = scan(group, value, Math.min(length, this.#lengthMax))
    scanned = digits
    return Math.max(digits, Math.min(length, this.#otherLengthMax))
  }

  /** The rates of the value's prefix of this length. */
  at(group: number, value: string, length: number, atMs: number): RateEntry | undefined {
    isSettled = false
    const rates = length <= scanned ? this.#listOf(group, length, atMs) : undefined
    if (rates !== undefined || length > this.#otherLengthMax) return rates
    return this.#others.get(otherKey(group, value.slice(0, length)))
  }

  /** Whether the last `at` found a single valid rate, which needs no further checks. */
  isSettled(): boolean {
    return isSettled
  }

  /** The rates of the prefix of this length of the text scanned last. */
  #listOf(group: number, length: number, atMs: number): RateEntry | undefined {
    const hash = hashes[length] as number
    const shard = this.#shards[hash >>> (32 - SHARD_BITS)]
    return shard?.find(keys[length] as number, group, hash, atMs)
  }

  #addShard(hash: number): Shard {
    const shard = new Shard()
    this.#shards[hash >>> (32 - SHARD_BITS)] = shard
    return shard
  }
}

function otherKey(group: number, prefix: string): string {
  return `${group}:${prefix}`
}

/** Prepares the prefixes of a text up to a length. Returns the number of leading digits. */
function scan(group: number, text: string, lengthMax: number): number {
  const end = Math.min(lengthMax, DIGITS_MAX)
  let key = 1
  let hash = Math.imul(group + 1, 0x9e3779b1)
  for (let at = 0; at < end; at += 1) {
    const digit = codeAt(text, at) - 48
    if (digit < 0 || digit > 9) return at
    key = key * 10 + digit
    hash = Math.imul(hash ^ digit, 0x01000193)
    keys[at + 1] = key
    hashes[at + 1] = mix(hash)
  }
  return end
}

/** Spreads differences in the low bits over all bits. */
function mix(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return half ^ (half >>> 13)
}

/**
 * A hash table with linear probing. One byte of the hash per slot keeps lookups without a result,
 * the majority, in the processor cache. Empty entries are removed when the table is rebuilt.
 */
class Shard {
  /** One byte of the hash per slot; 0 if the slot is free. */
  #tags = new Uint8Array(16)
  /**
   * For each slot the key, the group, and the validity of its rate, next to each other in one cache
   * line. An entry that is a list, or depends on the play, is never valid here.
   */
  #slots = new Float64Array(16 * SLOT_FIELDS)
  #entries: (RateEntry | undefined)[] = new Array(16)
  #used = 0

  find(key: number, group: number, hash: number, atMs: number): RateEntry | undefined {
    const slot = this.#slotOf(key, group, hash)
    if (this.#tags[slot] === 0) return undefined
    const at = SLOT_FIELDS * slot
    isSettled = atMs >= (this.#slots[at + 2] as number) && atMs < (this.#slots[at + 3] as number)
    return this.#entries[slot]
  }

  add(key: number, group: number, hash: number, rate: RateRevision): void {
    const slot = this.#slotOf(key, group, hash)
    if (this.#tags[slot] !== 0) {
      this.#setEntry(slot, withRate(this.#entries[slot], rate))
      return
    }
    if ((this.#used + 1) * 2 > this.#tags.length) this.#rebuild()
    this.#put(key, group, hash, rate)
  }

  remove(key: number, group: number, hash: number, rate: RateRevision): void {
    const slot = this.#slotOf(key, group, hash)
    if (this.#tags[slot] !== 0) this.#setEntry(slot, withoutRate(this.#entries[slot], rate))
  }

  #put(key: number, group: number, hash: number, entry: RateEntry): void {
    const slot = this.#slotOf(key, group, hash)
    this.#tags[slot] = tagOf(hash)
    this.#slots[SLOT_FIELDS * slot] = key
    this.#slots[SLOT_FIELDS * slot + 1] = group
    this.#setEntry(slot, entry)
    this.#used += 1
  }

  #setEntry(slot: number, entry: RateEntry | undefined): void {
    this.#entries[slot] = entry
    const isOne = entry !== undefined && !Array.isArray(entry) && entry.play === ''
    this.#slots[SLOT_FIELDS * slot + 2] = isOne ? entry.fromMs : Number.POSITIVE_INFINITY
    this.#slots[SLOT_FIELDS * slot + 3] = isOne ? entry.toMs : Number.NEGATIVE_INFINITY
  }

  /** The slot of the key, or the free slot for it. */
  #slotOf(key: number, group: number, hash: number): number {
    const tags = this.#tags
    const owners = this.#slots
    const tag = tagOf(hash)
    const mask = tags.length - 1
    let slot = hash & mask
    for (;;) {
      const found = tags[slot]
      if (found === 0) return slot
      const at = SLOT_FIELDS * slot
      const isOwn = found === tag && owners[at] === key && owners[at + 1] === group
      if (isOwn) return slot
      slot = (slot + 1) & mask
    }
  }

  /** Rebuilds the table with room for twice the entries in use. */
  #rebuild(): void {
    const owners = this.#slots
    const oldEntries = this.#entries
    const inUse = oldEntries.reduce<number>(
      (sum, entry) => (entry === undefined ? sum : sum + 1),
      0,
    )
    let capacity = 16
    while (capacity < (inUse + 1) * 3) capacity *= 2
    this.#tags = new Uint8Array(capacity)
    this.#slots = new Float64Array(SLOT_FIELDS * capacity)
    this.#entries = new Array(capacity)
    this.#used = 0
    for (const [at, entry] of oldEntries.entries()) {
      if (entry === undefined) continue
      const [key, group] = [owners[SLOT_FIELDS * at], owners[SLOT_FIELDS * at + 1]] as [
        number,
        number,
      ]
      this.#put(key, group, hashOf(key, group), entry)
    }
  }
}

/** Bits of the hash that select neither the shard nor, in most tables, the slot. Never 0. */
function tagOf(hash: number): number {
  return ((hash >>> 18) & 0xff) | 1
}

/** The hash that `scan` computes for a prefix, from its number. */
function hashOf(key: number, group: number): number {
  let hash = Math.imul(group + 1, 0x9e3779b1)
  for (const digit of String(key).slice(1)) {
    hash = Math.imul(hash ^ Number(digit), 0x01000193)
  }
  return mix(hash)
}
