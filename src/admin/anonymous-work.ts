/**
 * Limits the processor time that one address without a session may cause: its requests wait in the
 * same event loop as those of operators.
 */
import type { FastifyContextConfig, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { networksOf } from '../identity/networks.ts'
import { errorBody } from './client-errors.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Processor time of a request in the thread pool, which compares passwords. */
    poolMs?: number
    /** Processor time of the costliest request in the event loop; 100 by default. */
    loopMsMax?: number
  }
}

export interface AnonymousLimits {
  /** Share of one processor, per address. */
  readonly percent: number
  /** Monotonic. */
  nowMs(): number
  /** Time for which the event loop has worked since its start. */
  activeMs(): number
}

/** Seconds of its share that an address may use at once. */
const BURST_S = 30
/** Assumed for each request under way. */
const EXPECTED_MS = 10
/** The costliest request without a session. What the loop works beyond it is work of others. */
const LOOP_MS_MAX = 100
const KEPT_MAX = 10_000
/** Forgotten together if no network has got its time back: to find them costs milliseconds. */
const FORGOTTEN_MIN = 1_000

/** Time of one network: what it has used and not got back yet. */
interface Account {
  /** Shares of a network of this size. */
  readonly times: number
  usedMs: number
  /** Until when time has returned. */
  atMs: number
  underWay: number
  /** `activeMs` up to which work has been charged. */
  chargedMs: number
}

/** Ends a request; `isCharged`: its caller had no session. */
type End = (isCharged: boolean) => void

/**
 * An address is charged for what the loop works while it has requests under way, including that
 * of others, up to the time of the costliest request for each. Work cannot be attributed to single
 * requests at a reasonable price.
 */
export class AnonymousWork {
  readonly #limits: AnonymousLimits
  readonly #accounts = new Map<string, Account>()

  constructor(limits: AnonymousLimits) {
    this.#limits = limits
  }

  /** Networks that are remembered. */
  get size(): number {
    return this.#accounts.size
  }

  /**
   * Begins a request: returns what ends it, or the milliseconds after which it may be repeated.
   * `poolMs`: of its work outside of the loop; `loopMsMax`: of its work in the loop, at most.
   */
  begin(
    address: string,
    {
      poolMs = 0,
      loopMsMax = LOOP_MS_MAX,
    }: Pick<FastifyContextConfig, 'poolMs' | 'loopMsMax'> = {},
  ): number | End {
    const networks = networksOf(address)
    if (this.#accounts.size + networks.length > KEPT_MAX) this.#forget()
    const accounts = networks.map(({ name, times }) => this.#accountOf(name, times))
    const waitMs = Math.max(...accounts.map((account) => this.#waitMs(account)))
    if (waitMs > 0) return waitMs
    for (const account of accounts) {
      account.usedMs += poolMs
      account.underWay += 1
    }
    const begunMs = this.#limits.activeMs()
    return (isCharged) => {
      const endedMs = this.#limits.activeMs()
      for (const account of accounts) {
        account.underWay -= 1
        if (!isCharged) continue
        const fromMs = Math.max(begunMs, account.chargedMs)
        const chargeMs = Math.min(loopMsMax, endedMs - fromMs)
        account.usedMs += chargeMs
        account.chargedMs = fromMs + chargeMs
      }
    }
  }

  #accountOf(name: string, times: number): Account {
    const nowMs = this.#limits.nowMs()
    let account = this.#accounts.get(name)
    if (account === undefined) {
      account = { times, usedMs: 0, atMs: nowMs, underWay: 0, chargedMs: 0 }
      this.#accounts.set(name, account)
    }
    account.usedMs = this.#leftMs(account, nowMs)
    account.atMs = nowMs
    return account
  }

  /** Used, and not got back by this time. */
  #leftMs({ times, usedMs, atMs }: Account, nowMs: number): number {
    return Math.max(0, usedMs - (nowMs - atMs) * this.#share(times))
  }

  #waitMs({ times, usedMs, underWay }: Account): number {
    const share = this.#share(times)
    const overMs = usedMs + underWay * EXPECTED_MS - share * BURST_S * 1000
    // At the limit it has to wait for the next millisecond.
    return overMs < 0 ? 0 : Math.max(1, Math.ceil(overMs / share))
  }

  #share(times: number): number {
    return (times * this.#limits.percent) / 100
  }

  /** Idle accounts: first those that have got everything back, then those that used least. */
  #forget(): void {
    const nowMs = this.#limits.nowMs()
    const idle = [...this.#accounts]
      .filter(([, { underWay }]) => underWay === 0)
      .map(([name, account]) => ({ name, leftMs: this.#leftMs(account, nowMs) }))
      .sort((a, b) => a.leftMs - b.leftMs)
    for (const { name, leftMs } of idle) {
      if (leftMs > 0 && this.#accounts.size <= KEPT_MAX - FORGOTTEN_MIN) return
      this.#accounts.delete(name)
    }
  }
}

/**
 * Refuses by 429 requests without a session from an address that has used its time; health, metrics
 * and the heartbeat are exempt. Call it after the guard has been installed, which identifies
 * callers.
 */
export function limitAnonymous(
  server: FastifyInstance,
  limits: AnonymousLimits,
  hasSession: (request: FastifyRequest) => Promise<boolean>,
): void {
  const work = new AnonymousWork(limits)
  server.addHook('onRequest', async (request: FastifyRequest, reply: FastifyReply) => {
    const { config } = request.routeOptions
    if (config.inReserve === true || request.caller !== null) return
    // Public routes identify nobody. Without Redis nobody has a session.
    if (await hasSession(request).catch(() => false)) return
    const begun = work.begin(request.ip, config)
    if (typeof begun !== 'number') {
      // A signature, or a token in the body, has identified the caller in the meantime.
      reply.raw.once('close', () => begun(request.caller === null))
      return
    }
    const desc = 'this address has used its share of processor time without a session: wait'
    return reply
      .code(429)
      .header('retry-after', Math.ceil(begun / 1000))
      .send({ ...errorBody(429, desc), details: false })
  })
}
