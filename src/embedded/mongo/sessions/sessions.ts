import { transientError } from '../errors.ts'
import type { Store } from '../store/open.ts'
import type { Client, Connection } from './clients.ts'
import { type Outcome, Session, storedAtMs } from './session.ts'
import { Transaction } from './transaction.ts'

/** Idle time after which a session expires, as announced by `hello`. */
export const SESSION_MINUTES_MAX = 30
const SESSION_MS_MAX = SESSION_MINUTES_MAX * 60_000
/** As `transactionLifetimeLimitSeconds` of MongoDB. */
export const LIFETIME_SECONDS_DEFAULT = 60
const ALL_KEYS = { start: Buffer.from([0]), end: Buffer.alloc(17, 0xff) }

/**
 * The sessions of all clients. The last outcome of each is stored with the write itself, so that a
 * client that has not received the answer can repeat the statement, also after a crash.
 */
export class Sessions {
  /** Time limit of transactions that start from now on. */
  lifetimeSeconds: number
  readonly #sessions = new Map<string, Session>()
  readonly #store: Store
  readonly #nowMs: () => number
  #isClosing = false

  constructor(store: Store, nowMs: () => number, lifetimeSeconds = LIFETIME_SECONDS_DEFAULT) {
    this.#store = store
    this.#nowMs = nowMs
    this.lifetimeSeconds = lifetimeSeconds
  }

  /** The session with an id of 16 bytes, used over a connection. */
  use(key: Buffer, { client }: Connection): Session {
    const name = key.toString('latin1')
    let session = this.#sessions.get(name)
    if (!session) {
      session = new Session(key, client, this.#nowMs())
      const { storage } = this.#store
      const stored = storage.get(storage.sessions, key)
      if (stored) session.restore(stored)
      this.#sessions.set(name, session)
    }
    if (session.client !== client) {
      const known = session.client.current
      if (known !== client) client.merge(known)
      session.client = client
    }
    session.usedMs = this.#nowMs()
    return session
  }

  find(key: Buffer): Session | undefined {
    return this.#sessions.get(key.toString('latin1'))
  }

  /** @throws CommandError (ShutdownInProgress) */
  begin(session: Session): Transaction {
    if (this.#isClosing) {
      throw transientError('ShutdownInProgress', 'the server is shutting down')
    }
    session.transaction = new Transaction(this.#store, this.lifetimeSeconds * 1000)
    return session.transaction
  }

  /** Runs a job that writes; its answer is stored with it as the outcome of the session. */
  storeOutcome(session: Session, outcome: Outcome): void {
    const { storage } = this.#store
    storage.putOwn(storage.sessions, session.key, session.encode(outcome, this.#nowMs()))
  }

  /** Aborts the open transactions of a client that has disconnected. */
  abortOf(client: Client): void {
    for (const session of this.#sessions.values()) {
      if (session.transaction && session.client.current === client) session.transaction.abort()
    }
  }

  /** Ends sessions: their transactions are aborted and their outcomes forgotten. */
  async end(keys: readonly Buffer[]): Promise<void> {
    const { storage } = this.#store
    const stored: Buffer[] = []
    for (const key of keys) {
      this.find(key)?.transaction?.abort()
      this.#sessions.delete(key.toString('latin1'))
      if (storage.peek(storage.sessions, key)) stored.push(key)
    }
    if (stored.length === 0) return
    await storage.write(() => {
      for (const key of stored) storage.putOwn(storage.sessions, key, undefined)
    })
  }

  /** Aborts open transactions, of all sessions or of those with the ids. */
  kill(keys?: readonly Buffer[]): void {
    const sessions = keys ? keys.map((key) => this.find(key)) : this.#sessions.values()
    for (const session of sessions) session?.transaction?.abort()
  }

  /** Ends the sessions that have not been used for too long. */
  async expire(): Promise<void> {
    const { storage } = this.#store
    const oldestMs = this.#nowMs() - SESSION_MS_MAX
    const expired: Buffer[] = []
    for (const { key, usedMs } of this.#sessions.values()) if (usedMs < oldestMs) expired.push(key)
    for (const entry of storage.walk(storage.sessions, ALL_KEYS)) {
      if (!entry || storedAtMs(entry.value) >= oldestMs || this.find(entry.key)) continue
      expired.push(entry.key)
    }
    await this.end(expired)
  }

  /** Aborts all transactions; no other can start. */
  close(): void {
    this.#isClosing = true
    this.kill()
  }
}
