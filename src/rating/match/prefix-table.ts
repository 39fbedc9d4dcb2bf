/**
 * Rates by group and prefix, for look-ups of the longest prefix. Prefixes of digits are in hash
 * tables of numbers, one probe for each length, because a map of texts costs several times as much.
 * There are many small tables: one that grows is copied in one piece, which must not stall the
 * thread.
 */
import type { RateRevision } from '../../domain/catalogue.ts'
import { type RateEntry, withoutRate, withRate } from './rate-list.ts'

/** With a leading 1 the digits of a prefix are an exact number up to this length. */
const DIGITS_MAX = 15
const SHARD_BITS = 6
const SLOT_FIELDS = 4

/** The prefixes of one text: numbers and hashes by length. Written by `scan`, then read at once. */
const keys = new Float64Array(DIGITS_MAX + 1)
const hashes = new Int32Array(DIGITS_MAX + 1)
/** How long the prefixes of the look-up under way are that are digits. */
let scanned = 0
/** Whether what `at` found is one rate, for all, that is valid then: known without touching it. */
let isSettled = false

export class PrefixTable {
  readonly #shards: (Shard | undefined)[] = new Array(1 << SHARD_BITS)
  /** Prefixes of anything but digits, or too long; by group and text. */
  readonly #others = new Map<string, RateEntry>()
  /** Longest prefix that was ever added, in characters. */
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
    const held = withoutRate(this.#others.get(key), rate)
    if (held === undefined) this.#others.delete(key)
    else this.#others.set(key, held)
  }

  /**
   * Begins a look-up: the length to begin at with `at`, downwards. Only one look-up at a time, in
   * all tables: it is kept where no memory need be taken for it.
   */
  begin(group: number, value: string): number {
    const digits = scan(group, value, Math.min(value.length, this.#lengthMax))
    scanned = digits
    return Math.max(digits, Math.min(value.length, this.#otherLengthMax))
  }

  /** The rates of the value's prefix of this length. */
  at(group: number, value: string, length: number, atMs: number): RateEntry | undefined {
    isSettled = false
    const rates = length <= scanned ? this.#listOf(group, length, atMs) : undefined
    if (rates !== undefined || length > this.#otherLengthMax) return rates
    return this.#others.get(otherKey(group, value.slice(0, length)))
  }

  /** Whether the last `at` found one rate that holds: then nothing more need be looked at. */
  isSettled(): boolean {
    return isSettled
  }

  /** Of the prefix of this length of the text that was scanned last. */
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

/** Prepares the prefixes of a text up to a length; answers how far it is digits. */
function scan(group: number, text: string, lengthMax: number): number {
  const end = Math.min(lengthMax, DIGITS_MAX)
  let key = 1
  let hash = Math.imul(group + 1, 0x9e3779b1)
  for (let at = 0; at < end; at += 1) {
    const digit = text.charCodeAt(at) - 48
    if (digit < 0 || digit > 9) return at
    key = key * 10 + digit
    hash = Math.imul(hash ^ digit, 0x01000193)
    keys[at + 1] = key
    hashes[at + 1] = mix(hash)
  }
  return end
}

/** Spreads what differs in the low bits over all of them. */
function mix(hash: number): number {
  const half = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  return half ^ (half >>> 13)
}

/**
 * A hash table with linear probing. A byte of the hash for each slot keeps the look-ups that find
 * nothing, which are most, in the processor's cache. Entries that hold nothing any more go when the
 * table is made anew.
 */
class Shard {
  /** 0: free. */
  #tags = new Uint8Array(16)
  /**
   * Of each slot the key, the group, and when its rate begins and ends to be valid, side by side:
   * one line of the cache. What has to be looked at itself is never valid here.
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

  #put(key: number, group: number, hash: number, held: RateEntry): void {
    const slot = this.#slotOf(key, group, hash)
    this.#tags[slot] = tagOf(hash)
    this.#slots[SLOT_FIELDS * slot] = key
    this.#slots[SLOT_FIELDS * slot + 1] = group
    this.#setEntry(slot, held)
    this.#used += 1
  }

  #setEntry(slot: number, held: RateEntry | undefined): void {
    this.#entries[slot] = held
    const isOne = held !== undefined && !Array.isArray(held) && held.play === ''
    this.#slots[SLOT_FIELDS * slot + 2] = isOne ? held.fromMs : Number.POSITIVE_INFINITY
    this.#slots[SLOT_FIELDS * slot + 3] = isOne ? held.toMs : Number.NEGATIVE_INFINITY
  }

  /** Where the key is, or the free slot where it belongs. */
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

  /** With room for twice of what is in use. */
  #rebuild(): void {
    const owners = this.#slots
    const oldHeld = this.#entries
    const inUse = oldHeld.reduce<number>((sum, held) => (held === undefined ? sum : sum + 1), 0)
    let capacity = 16
    while (capacity < (inUse + 1) * 3) capacity *= 2
    this.#tags = new Uint8Array(capacity)
    this.#slots = new Float64Array(SLOT_FIELDS * capacity)
    this.#entries = new Array(capacity)
    this.#used = 0
    for (const [at, held] of oldHeld.entries()) {
      if (held === undefined) continue
      const [key, group] = [owners[SLOT_FIELDS * at], owners[SLOT_FIELDS * at + 1]] as [
        number,
        number,
      ]
      this.#put(key, group, hashOf(key, group), held)
    }
  }
}

/** Bits of the hash that choose neither the shard nor, in most tables, the slot; never 0. */
function tagOf(hash: number): number {
  return ((hash >>> 18) & 0xff) | 1
}

/** The hash that `scan` gave a prefix, from its number. */
function hashOf(key: number, group: number): number {
  let hash = Math.imul(group + 1, 0x9e3779b1)
  for (const digit of String(key).slice(1)) {
    hash = Math.imul(hash ^ Number(digit), 0x01000193)
  }
  return mix(hash)
}
