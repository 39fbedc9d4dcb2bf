/**
 * Collects questions to one address of the customer system: many in one call, few calls at a time.
 * The slower the answers, the more questions wait and the larger the calls become.
 */
import type { CircuitBreaker } from '../circuit-breaker.ts'
import { CustomerSystemError } from './errors.ts'

export interface BatcherOptions<Question, Answer> {
  /** Answers in the order of the questions; an error at its position is that of one question. */
  readonly call: (questions: readonly Question[]) => Promise<readonly (Answer | Error)[]>
  /** Questions of one call. */
  readonly questionsMax: number
  /** Calls under way at one time. */
  readonly callsMax: number
  /** Questions that wait for a call. */
  readonly waitingMax: number
  /** How long a question waits for others, ms. */
  readonly gatherMs: number
  readonly circuit: CircuitBreaker
  /** Each call, with null or its failure. */
  readonly onCall: (failure: CustomerSystemError | null) => void
}

interface Waiting<Question, Answer> {
  readonly question: Question
  readonly promise: Promise<Answer>
  readonly resolve: (answer: Answer) => void
  readonly reject: (error: unknown) => void
}

export class QueryBatcher<Question, Answer> {
  readonly #options: BatcherOptions<Question, Answer>
  /** By name: equal questions that wait are asked once. */
  #waiting = new Map<string, Waiting<Question, Answer>>()
  #calls = 0
  #timer: NodeJS.Timeout | null = null

  constructor(options: BatcherOptions<Question, Answer>) {
    this.#options = options
  }

  /** Rejects with `CustomerSystemError`, or with the error of the question. */
  ask(name: string, question: Question): Promise<Answer> {
    const known = this.#waiting.get(name)
    if (known !== undefined) return known.promise
    const { circuit, waitingMax, questionsMax } = this.#options
    if (!circuit.isPassing) return Promise.reject(openError())
    if (this.#waiting.size >= waitingMax) {
      return Promise.reject(new CustomerSystemError('queue full', 'too many queries wait for it'))
    }
    let settle: Pick<Waiting<Question, Answer>, 'resolve' | 'reject'> | null = null
    const promise = new Promise<Answer>((resolve, reject) => {
      settle = { resolve, reject }
    })
    const { resolve, reject } = settle as unknown as Waiting<Question, Answer>
    this.#waiting.set(name, { question, promise, resolve, reject })
    if (this.#waiting.size >= questionsMax) this.#send()
    else this.#sendLater()
    return promise
  }

  #sendLater(): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = null
      this.#send()
    }, this.#options.gatherMs)
  }

  /** Sends what waits as far as calls are allowed; the end of a call sends the rest. */
  #send(): void {
    const { circuit, questionsMax, callsMax } = this.#options
    while (this.#waiting.size > 0 && this.#calls < callsMax) {
      if (!circuit.isPassing) {
        this.#rejectAll()
        return
      }
      circuit.begin()
      const part = [...this.#waiting].slice(0, questionsMax)
      for (const [name] of part) this.#waiting.delete(name)
      void this.#call(part.map(([, waiting]) => waiting))
    }
  }

  async #call(part: readonly Waiting<Question, Answer>[]): Promise<void> {
    const { call, circuit, onCall } = this.#options
    this.#calls += 1
    try {
      const answers = await call(part.map(({ question }) => question))
      circuit.succeeded()
      onCall(null)
      for (const [index, { resolve, reject }] of part.entries()) {
        const answer = answers[index] as Answer | Error
        if (answer instanceof Error) reject(answer)
        else resolve(answer)
      }
    } catch (error) {
      circuit.failed()
      onCall(error instanceof CustomerSystemError ? error : defectOf(error))
      for (const { reject } of part) reject(error)
    } finally {
      this.#calls -= 1
      if (circuit.isPassing || this.#waiting.size === 0) this.#send()
      else this.#rejectAll()
    }
  }

  /** The circuit has opened: nothing waits for it. */
  #rejectAll(): void {
    const waiting = this.#waiting
    this.#waiting = new Map()
    for (const { reject } of waiting.values()) reject(openError())
  }
}

function openError(): CustomerSystemError {
  return new CustomerSystemError('circuit open', 'it is not called, because its last calls failed')
}

function defectOf(cause: unknown): CustomerSystemError {
  return new CustomerSystemError('unreachable', 'a call failed by a defect', { cause })
}
