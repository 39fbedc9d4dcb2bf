/** Limits on what a call of `quote` sends, and its work in slices. */
import { createPacer } from '../../catalog/feed/pacer.ts'
import { isObject } from '../../domain/fields.ts'
import { type EntityRuleError, fieldRule, parameterError } from '../../requests/errors.ts'
import { monotonicMs } from '../../runtime/clock.ts'

export const CASES_MAX = 100
/** Limit of all cases of a call. */
export const EVENTS_MAX = 1_000
/** Limit of each list in a case: some checks compare all members with each other. */
const MEMBERS_MAX = 1_000
/** Usage is split at the ends of time bands: an event must not be split too often. */
const BANDS_MAX = 32
/** Time that the cases of a call may take, without the pauses for other calls. */
const TIME_MS_MAX = 60_000

/** Runs cases in slices: other calls are answered meanwhile. */
export class QuoteWork {
  readonly #pacer = createPacer()
  readonly #signal: AbortSignal | undefined
  #sliceMs = monotonicMs()
  #leftMs = TIME_MS_MAX

  /** `signal`: the client disconnects. */
  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal
  }

  /** Null if the client has disconnected. Rejects with `ActionError` if the time is over. */
  async run<T>(steps: Generator<undefined, T>, path: string): Promise<T | null> {
    let step = steps.next()
    while (step.done !== true) {
      if (this.#pacer.isSliceOver()) {
        this.#leftMs -= monotonicMs() - this.#sliceMs
        await this.#pacer.pause()
        this.#sliceMs = monotonicMs()
      }
      if (this.#signal?.aborted === true) return null
      if (this.#leftMs < 0) throw tooSlow(path)
      step = steps.next()
    }
    return step.value
  }
}

function tooSlow(path: string): EntityRuleError {
  const seconds = TIME_MS_MAX / 1000
  return fieldRule(path, `was not reached in ${seconds} s: send fewer cases`)
}

export function refuseLarge(cases: readonly unknown[]): void {
  if (cases.length > CASES_MAX) {
    throw parameterError('cases', `has more than ${CASES_MAX} members`)
  }
  let events = 0
  for (const [index, each] of cases.entries()) {
    refuseLongLists(each, `cases.${index}`)
    const listed = isObject(each) ? each['events'] : null
    if (Array.isArray(listed)) events += listed.length
  }
  if (events > EVENTS_MAX) {
    throw parameterError('cases', `has more than ${EVENTS_MAX} events in total`)
  }
}

export function refuseLongLists(value: unknown, path: string, most = MEMBERS_MAX): void {
  if (typeof value !== 'object' || value === null) return
  if (Array.isArray(value) && value.length > most) {
    throw fieldRule(path, `has more than ${most} members`)
  }
  for (const [name, member] of Object.entries(value)) {
    refuseLongLists(member, `${path}.${name}`, name === 'bands' ? BANDS_MAX : MEMBERS_MAX)
  }
}
