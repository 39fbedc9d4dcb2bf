/**
 * Rates by group and prefix, for look-ups of the longest prefix. Prefixes of digits are in hash
 * tables of numbers, one probe for each length, because a map of texts costs several times as much.
 * There are many small tables: one that grows is copied in one piece, which must not stall the thread.
 */
import type { RateRevision } from '../../domain/catalogue.ts'
import { addSorted, type RateList, removeSorted } from './rate-list.ts'

/** With a leading 1 the digits of a prefix are an exact number up to this length. */
const DIGITS_MAX = 15
const SHARD_BITS = 6

/** The prefixes of one text: numbers and hashes by length. Written by `scan`, then read at once. */
const keys = new Float64Array(DIGITS_MAX + 1)
const hashes = new Int32Array(DIGITS_MAX + 1)

export class PrefixTable {
  private readonly shards: (Shard | undefined)[] = new Array(1 << SHARD_BITS)
  /** Prefixes of anything but digits, or too long; by group and text. */
  private readonly others = new Map<string, RateList>()
  /** Longest prefix that was ever added, in characters. */
  private lengthMax = 0
  private otherLengthMax = 0

  add(group: number, prefix: string, rate: RateRevision): void {
    const { length } = prefix
    if (length === 0) return
    if (scan(group, prefix, length) === length) {
      const hash = hashes[length] as number
      const shard = this.shards[hash >>> (32 - SHARD_BITS)] ?? this.addShard(hash)
      addSorted(shard.listFor(keys[length] as number, group, hash), rate)
      this.lengthMax = Math.max(this.lengthMax, length)
      return
    }
    const key = otherKey(group, prefix)
    const list = this.others.get(key)
    if (list === undefined) this.others.set(key, [rate])
    else addSorted(list, rate)
    this.otherLengthMax = Math.max(this.otherLengthMax, length)
  }

  remove(group: number, prefix: string, rate: RateRevision): void {
    const { length } = prefix
    if (scan(group, prefix, length) === length) {
      const list = this.listOf(group, length)
      if (list !== undefined) removeSorted(list, rate)
      return
    }
    const key = otherKey(group, prefix)
    const list = this.others.get(key)
    if (list === undefined) return
    removeSorted(list, rate)
    if (list.length === 0) this.others.delete(key)
  }

  /** The first answer of `choose` to the rates of a prefix of the value, the longest one first. */
  find(
    group: number,
    value: string,
    choose: (rates: readonly RateRevision[]) => RateRevision | null,
  ): RateRevision | null {
    const digits = scan(group, value, Math.min(value.length, this.lengthMax))
    const others = Math.min(value.length, this.otherLengthMax)
    for (let length = Math.max(digits, others); length > 0; length -= 1) {
      const numbered = length <= digits ? this.listOf(group, length) : undefined
      const rates =
        numbered ?? (length <= others ? this.otherList(group, value, length) : undefined)
      const chosen = rates === undefined ? null : choose(rates)
      if (chosen !== null) return chosen
    }
    return null
  }

  /** Of the prefix of this length of the text that was scanned last. */
  private listOf(group: number, length: number): RateList | undefined {
    const hash = hashes[length] as number
    return this.shards[hash >>> (32 - SHARD_BITS)]?.find(keys[length] as number, group, hash)
  }

  private otherList(group: number, value: string, length: number): RateList | undefined {
    return this.others.get(otherKey(group, value.slice(0, length)))
  }

  private addShard(hash: number): Shard {
    const shard = new Shard()
    this.shards[hash >>> (32 - SHARD_BITS)] = shard
    return shard
  }
}

function otherKey(group: number, prefix: string): string {
  return `${group}:${prefix}`
}

/** Prepares the prefixes of a text up to a length; answers how long they are: as far as it is digits. */
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

/** A hash table with linear probing. Entries whose list became empty go when it is made anew. */
class Shard {
  private keys = new Float64Array(16)
  private groups = new Int32Array(16)
  private lists: (RateList | undefined)[] = new Array(16)
  private used = 0

  find(key: number, group: number, hash: number): RateList | undefined {
    return this.lists[this.slotOf(key, group, hash)]
  }

  /** The list of a key, made if there is none. */
  listFor(key: number, group: number, hash: number): RateList {
    const slot = this.slotOf(key, group, hash)
    const found = this.lists[slot]
    if (found !== undefined) return found
    const list: RateList = []
    this.keys[slot] = key
    this.groups[slot] = group
    this.lists[slot] = list
    this.used += 1
    if (this.used * 2 > this.keys.length) this.renew(list)
    return list
  }

  /** Where the key is, or the free slot where it belongs. */
  private slotOf(key: number, group: number, hash: number): number {
    const { keys: own, groups } = this
    const mask = own.length - 1
    let slot = hash & mask
    while (own[slot] !== 0 && (own[slot] !== key || groups[slot] !== group)) {
      slot = (slot + 1) & mask
    }
    return slot
  }

  /** With room for twice of what is in use; `kept` stays although it is empty. */
  private renew(kept: RateList): void {
    const { keys: oldKeys, groups: oldGroups, lists: oldLists } = this
    const isKept = (list: RateList | undefined) =>
      list !== undefined && (list.length > 0 || list === kept)
    this.used = oldLists.filter(isKept).length
    let capacity = 16
    while (capacity < this.used * 4) capacity *= 2
    this.keys = new Float64Array(capacity)
    this.groups = new Int32Array(capacity)
    this.lists = new Array(capacity)
    for (const [at, list] of oldLists.entries()) {
      if (list === undefined || !isKept(list)) continue
      const [key, group] = [oldKeys[at] as number, oldGroups[at] as number]
      const slot = this.slotOf(key, group, hashOf(key, group))
      this.keys[slot] = key
      this.groups[slot] = group
      this.lists[slot] = list
    }
  }
}

/** The hash that `scan` gave a prefix, from its number. */
function hashOf(key: number, group: number): number {
  let hash = Math.imul(group + 1, 0x9e3779b1)
  for (const digit of String(key).slice(1)) {
    hash = Math.imul(hash ^ Number(digit), 0x01000193)
  }
  return mix(hash)
}
