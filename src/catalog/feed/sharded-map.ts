/**
 * A map for very many entries. It grows without the pause in which a large Map rehashes all of
 * them, and copying it costs only the shards that change afterwards.
 */
const SHARDS = 256
/** Keys such as ids and consecutive numbers differ in their last characters. */
const HASHED_CHARACTERS = 6

export class ShardedMap<K extends string | number, V> implements ReadonlyMap<K, V> {
  readonly #shards: Map<K, V>[]
  /** 1 if the shard is not shared with a copy. */
  readonly #owned = new Uint8Array(SHARDS)
  #count: number

  constructor(like?: ShardedMap<K, V>) {
    if (like === undefined) {
      this.#shards = Array.from({ length: SHARDS }, () => new Map<K, V>())
      this.#count = 0
      this.#owned.fill(1)
    } else {
      this.#shards = like.#shards.slice()
      this.#count = like.#count
      like.#owned.fill(0)
    }
  }

  /** A copy with the same entries; later changes affect only one of the two. */
  copy(): ShardedMap<K, V> {
    return new ShardedMap(this)
  }

  get size(): number {
    return this.#count
  }

  get(key: K): V | undefined {
    return this.#shards[shardOf(key)]?.get(key)
  }

  has(key: K): boolean {
    return this.#shards[shardOf(key)]?.has(key) === true
  }

  set(key: K, value: V): this {
    const shard = this.#writable(key)
    const { size } = shard
    shard.set(key, value)
    this.#count += shard.size - size
    return this
  }

  delete(key: K): boolean {
    if (!this.has(key)) return false
    this.#writable(key).delete(key)
    this.#count -= 1
    return true
  }

  *entries(): MapIterator<[K, V]> {
    for (const shard of this.#shards) yield* shard.entries()
  }

  *keys(): MapIterator<K> {
    for (const shard of this.#shards) yield* shard.keys()
  }

  *values(): MapIterator<V> {
    for (const shard of this.#shards) yield* shard.values()
  }

  [Symbol.iterator](): MapIterator<[K, V]> {
    return this.entries()
  }

  forEach(callback: (value: V, key: K, map: ReadonlyMap<K, V>) => void): void {
    for (const [key, value] of this) callback(value, key, this)
  }

  #writable(key: K): Map<K, V> {
    const index = shardOf(key)
    let shard = this.#shards[index] as Map<K, V>
    if (this.#owned[index] === 0) {
      shard = new Map(shard)
      this.#shards[index] = shard
      this.#owned[index] = 1
    }
    return shard
  }
}

function shardOf(key: string | number): number {
  if (typeof key === 'number') return (key >>> 0) % SHARDS
  let hash = key.length
  for (let at = Math.max(0, key.length - HASHED_CHARACTERS); at < key.length; at += 1) {
    hash = (Math.imul(hash, 31) + key.charCodeAt(at)) | 0
  }
  return (hash >>> 0) % SHARDS
}
