import { digestOf } from '../domain/digest.ts'
import type { Pending } from './worker-queue.ts'

/**
 * The order of the requests of each session: one is with a worker at a time, and later ones wait
 * behind it, because it may have to be looked up, and only its outcome shows the worker of its
 * account.
 */
export class SessionOrder {
  /**
   * By session id, which is cheaper than a name with the origin: the requests of all origins with
   * it, in order. Of each origin the first is with a worker or queued for one.
   */
  readonly #requests = new Map<string, Pending | Pending[]>()

  /** The earlier request behind which this one now waits; undefined if it is the first. */
  enter(pending: Pending): Pending | undefined {
    const { sessionId } = pending.request
    const known = this.#requests.get(sessionId)
    if (known === undefined) {
      this.#requests.set(sessionId, pending)
      return undefined
    }
    const all = Array.isArray(known) ? known : [known]
    const earlier = all.find((one) => isOfSession(one, pending))
    all.push(pending)
    if (all !== known) this.#requests.set(sessionId, all)
    return earlier
  }

  /** The requests that wait behind this one, in order. */
  behind(pending: Pending): readonly Pending[] {
    const known = this.#requests.get(pending.request.sessionId)
    if (!Array.isArray(known)) return NONE
    return known.filter((one) => one !== pending && isOfSession(one, pending))
  }

  /**
   * Removes and returns the repeats that wait directly behind this request. Its outcome is theirs:
   * a worker would find it by number and digest. So a client that repeats one request over many
   * connections does not wait for a batch each.
   */
  takeRepeats(pending: Pending): readonly Pending[] {
    const behind = this.behind(pending)
    const end = behind.findIndex((one) => !isRepeat(one, pending))
    const repeats = end < 0 ? behind : behind.slice(0, end)
    for (const repeat of repeats) this.next(repeat)
    return repeats
  }

  /**
   * The request was not charged. Once a higher number is settled, usage reported with the lower
   * number could not be repeated. So those behind it are removed, except its repeat, which takes
   * its place, and then repeats of the removed ones in their order. `drop` answers a removed
   * request; more of the session may be submitted meanwhile.
   */
  dropBehind(pending: Pending, drop: (behind: Pending) => void): void {
    const lost = [pending]
    let kept = 0
    for (;;) {
      const behind = this.behind(pending)[kept]
      if (behind === undefined) return
      const [first] = lost
      if (first === undefined || isRepeat(behind, first)) {
        lost.shift()
        kept += 1
      } else {
        lost.push(behind)
        this.next(behind)
        drop(behind)
      }
    }
  }

  /** The request has ended. Returns the next one of its session, which takes its place. */
  next(pending: Pending): Pending | undefined {
    const { sessionId } = pending.request
    const known = this.#requests.get(sessionId)
    if (!Array.isArray(known)) {
      this.#requests.delete(sessionId)
      return undefined
    }
    known.splice(known.indexOf(pending), 1)
    if (known.length === 1) this.#requests.set(sessionId, known[0] as Pending)
    return known.find((one) => isOfSession(one, pending))
  }
}

const NONE: readonly Pending[] = []

function isOfSession(one: Pending, { request }: Pending): boolean {
  return one.request.origin === request.origin
}

/** As the worker compares them (`findAnswer`). */
function isRepeat({ request }: Pending, original: Pending): boolean {
  if (request.requestNumber !== original.request.requestNumber) return false
  return digestOf(request) === digestOf(original.request)
}
