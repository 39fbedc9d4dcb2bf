import { sessionNameOf } from '../domain/charge-request.ts'
import type { Pending } from './worker-queue.ts'

/**
 * The order of the requests of each session: one is with a worker at a time, and later ones wait
 * behind it, because it may have to be looked up, and only its outcome shows the worker of its
 * account.
 */
export class SessionOrder {
  /** The request of each session that is with a worker or queued for one. */
  readonly #first = new Map<string, Pending>()
  readonly #behind = new Map<string, Pending[]>()

  /** The earlier request behind which this one now waits; undefined if there is none. */
  enter(pending: Pending): Pending | undefined {
    const session = sessionNameOf(pending.request)
    const first = this.#first.get(session)
    if (first === undefined) {
      this.#first.set(session, pending)
      return undefined
    }
    const behind = this.#behind.get(session)
    if (behind === undefined) this.#behind.set(session, [pending])
    else behind.push(pending)
    return first
  }

  /** The requests that wait behind this one, in order. */
  behind({ request }: Pending): readonly Pending[] {
    return this.#behind.size === 0 ? NONE : (this.#behind.get(sessionNameOf(request)) ?? NONE)
  }

  /** The request has ended. Returns the next one of its session, which takes its place. */
  next({ request }: Pending): Pending | undefined {
    const session = sessionNameOf(request)
    const behind = this.#behind.size === 0 ? undefined : this.#behind.get(session)
    const next = behind?.shift()
    if (next === undefined) this.#first.delete(session)
    else this.#first.set(session, next)
    if (behind?.length === 0) this.#behind.delete(session)
    return next
  }
}

const NONE: readonly Pending[] = []
