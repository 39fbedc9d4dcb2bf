/**
 * The recorders of an installation, by heartbeats in Redis. A recorder that is alone knows what
 * MongoDB contains, and omits what has not changed; it learns of another one before that one
 * writes.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { monotonicMs } from '../runtime/clock.ts'
import type { Ledger } from './ledger.ts'

/**
 * A recorder without a heartbeat for this time, and that of a blocking read, has ended. Its
 * heartbeats are a second apart.
 */
const GONE_MS = 3_000
const POLL_MS = 50

/** Heartbeats of a recorder so far, and when the last one was noticed. */
interface Heartbeat {
  count: string
  atMs: number
}

export class Recorders {
  readonly #ledger: Ledger
  readonly #own = randomBytes(9).toString('base64url')
  readonly #others = new Map<string, Heartbeat>()

  readonly #goneMs: number

  /**
   * Uses the connection of the reads, which block for up to `blockMs`: a reply is processed before
   * that of a later read.
   */
  constructor(ledger: Ledger, blockMs: number) {
    this.#ledger = ledger
    this.#goneMs = GONE_MS + blockMs
  }

  /** Resolves when every other recorder has noticed this one, or has ended. */
  async join(signal: AbortSignal): Promise<void> {
    await this.announce()
    const before = new Map([...this.#others].map(([name, { count }]) => [name, count]))
    const isUnaware = ([name, { count }]: [string, Heartbeat]) => before.get(name) === count
    while ([...this.#others].some(isUnaware) && !signal.aborted) {
      await delay(POLL_MS)
      await this.announce()
    }
  }

  /** A heartbeat. Resolves to whether there is no other recorder. Throws `StoreDownError`. */
  async announce(): Promise<boolean> {
    const { client, guard } = this.#ledger.redis
    const key = this.#ledger.keys.recorders
    const announced = client.hincrby(key, this.#own, 1)
    const [, found] = await guard(Promise.all([announced, client.hgetall(key)]))
    const nowMs = monotonicMs()
    for (const name of this.#others.keys()) if (!(name in found)) this.#others.delete(name)
    const gone: string[] = []
    for (const [name, count] of Object.entries(found)) {
      const known = this.#others.get(name)
      if (name === this.#own) continue
      if (known?.count !== count) this.#others.set(name, { count, atMs: nowMs })
      else if (nowMs - known.atMs >= this.#goneMs) gone.push(name)
    }
    if (gone.length > 0) await guard(client.hdel(key, ...gone))
    for (const name of gone) this.#others.delete(name)
    return this.#others.size === 0
  }

  /** Never rejects: without it, the others notice after a while. */
  async leave(): Promise<void> {
    const { client, guard } = this.#ledger.redis
    await guard(client.hdel(this.#ledger.keys.recorders, this.#own)).catch(() => undefined)
  }
}
