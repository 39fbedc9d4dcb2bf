/**
 * The customer system of a worker: follows the stored settings, collects questions into calls, and
 * reports its state. Without external customer mode it does nothing.
 */
import { isDeepStrictEqual } from 'node:util'
import type { ProfileParts } from '../../catalog/feed/profiles.ts'
import { type SecretSettings, sealerOf } from '../../catalog/sealing/secret-keys.ts'
import { customFieldsOf } from '../../catalog/settings/customers/customer-fields.ts'
import {
  type CustomerHolder,
  type CustomerSettings,
  customerSettingsOf,
  type DetailsSettings,
  partsOf,
} from '../../catalog/settings/customers/customer-settings.ts'
import type { Config } from '../../config/schema.ts'
import type { CustomerSystemEvent } from '../../domain/worker-task.ts'
import { CircuitBreaker, type CircuitState } from '../../external/circuit-breaker.ts'
import { askDetails, type DetailsQuestion } from '../../external/customers/details.ts'
import type { CustomerSystemError } from '../../external/customers/errors.ts'
import { type CustomerHttp, createCustomerHttp } from '../../external/customers/http.ts'
import { QueryBatcher } from '../../external/customers/query-batcher.ts'
import {
  type CustomerRevision,
  type RevisionContext,
  readAccountRevision,
  readSubscriberRevision,
  type SubscriberRevision,
} from '../../external/customers/revisions.ts'
import type { Logger } from '../../runtime/log.ts'
import type { Subscription } from '../../store/bus.ts'
import type { AgeLimits } from '../profile-ages.ts'
import { type AskDetails, type CustomerQuestions, customerParts } from './customer-parts.ts'

export type FindKept = (
  kind: CustomerHolder,
  questions: readonly DetailsQuestion[],
) => Promise<readonly (CustomerRevision['fields'] | null)[]>

export interface CustomerSystemOptions {
  readonly config: SecretSettings & {
    readonly external: Config['external']
    readonly rating: Pick<Config['rating'], 'timeZone'>
  }
  readonly worker: number
  readonly log: Pick<Logger, 'warn' | 'info'>
  /** Monotonic, ms. */
  readonly elapsedMs: () => number
  /** Called with the whole state after it has changed, at most once per second for its counts. */
  readonly emit: (event: CustomerSystemEvent) => void
  /**
   * For each question the fields of a revision that the billing cycle has brought; null to ask.
   */
  readonly findKept: FindKept
  /** Answers of other settings are not valid any more. */
  readonly onChanged: () => void
  /** Follows the changes that the customer system announces. */
  readonly subscribe: () => Pick<Subscription, 'close'>
}

/** Calls of a worker under way at one time, per address. */
const CALLS_MAX = 4
/** Both addresses may be of one host, and so may be that of tokens. */
const CONNECTIONS_MAX = 2 * CALLS_MAX + 1
const GATHER_MS = 5
const WAITING_MAX = 2_000
const QUERIES_MAX = 100
const CIRCUIT = { failuresMax: 5, openMsMin: 1_000, openMsMax: 30_000 } as const
const REPORT_MS = 1_000

export class CustomerSystem {
  readonly #options: CustomerSystemOptions
  #followed: unknown = null
  #open: OpenSystem | null = null

  constructor(options: CustomerSystemOptions) {
    this.#options = options
  }

  /** Whether profiles are read from the customer system at all. */
  get isAsked(): boolean {
    return this.#open !== null
  }

  /** The limits of profiles read now; undefined if the node's entities are used. */
  get ageLimits(): AgeLimits | undefined {
    return this.#open?.ageLimits
  }

  /** `stored` reads the entities of the node. */
  parts(stored: ProfileParts): ProfileParts {
    return this.#open === null ? stored : customerParts(stored, this.#open.questions)
  }

  /** Applies the stored value of category `subscribers`. Never throws. */
  follow(value: unknown): void {
    const { config } = this.#options
    const followed = { own: partsOf(value).own, fields: customFieldsOf(value) }
    if (isDeepStrictEqual(followed, this.#followed)) return
    const isFirst = this.#followed === null
    this.#followed = followed
    const wasAsked = this.isAsked
    void this.#open?.close()
    this.#open = null
    const settings = customerSettingsOf(value, lazySealer(config))
    const isExternal = settings.subscriber !== null || settings.account !== null
    const context = { timeZone: config.rating.timeZone, customFields: followed.fields }
    if (isExternal) this.#open = new OpenSystem(this.#options, settings, context)
    if (wasAsked && !isExternal) this.#emitNothing()
    if (!isFirst && (wasAsked || isExternal)) this.#options.onChanged()
  }

  /** A profile is used beyond its age. */
  countStale(): void {
    this.#open?.countStale()
  }

  async close(): Promise<void> {
    await this.#open?.close()
    this.#open = null
  }

  #emitNothing(): void {
    const { worker, emit } = this.#options
    emit({ kind: 'customerSystem', worker, calls: [], stale: 0 })
  }
}

/** Deriving a key takes time, so only if there is a secret. */
function lazySealer(config: SecretSettings) {
  let sealer: ReturnType<typeof sealerOf> | undefined
  return {
    open(text: string) {
      sealer ??= sealerOf(config)
      return sealer.open(text)
    },
  }
}

/** The customer system by certain settings. */
class OpenSystem {
  readonly questions: CustomerQuestions
  readonly ageLimits: AgeLimits
  readonly #options: CustomerSystemOptions
  readonly #http: CustomerHttp
  readonly #subscription: Pick<Subscription, 'close'>
  readonly #usesKept: boolean
  readonly #states = new Map<CustomerHolder, CircuitState>()
  readonly #calls: Partial<Record<CustomerHolder, Record<string, number>>> = {}
  #stale = 0
  #timer: NodeJS.Timeout | null = null
  #isClosed = false

  constructor(
    options: CustomerSystemOptions,
    { subscriber, account, fillsFromBillable }: CustomerSettings,
    context: RevisionContext,
  ) {
    this.#options = options
    this.#usesKept = fillsFromBillable
    this.#subscription = options.subscribe()
    const { privateRanges } = options.config.external
    this.#http = createCustomerHttp({ privateRanges, connectionsMax: CONNECTIONS_MAX })
    const queriesMax = subscriber?.queriesMax ?? QUERIES_MAX
    this.questions = {
      subscriber:
        subscriber &&
        this.#ask('subscriber', subscriber, queriesMax, (value, path) =>
          readSubscriberRevision(value, path, context),
        ),
      account:
        account &&
        this.#ask('account', account, queriesMax, (value, path) =>
          readAccountRevision(value, path, context),
        ),
    }
    // A profile has the parts of both, so it is as old as the one with the shorter limits allows.
    const limits = [subscriber, account].filter((each) => each !== null)
    this.ageLimits = {
      ttlMs: Math.min(...limits.map(({ ttlMs }) => ttlMs)),
      staleMs: Math.min(...limits.map(({ staleMs }) => staleMs)),
    }
    this.#report()
  }

  countStale(): void {
    this.#stale += 1
    this.#reportLater()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#subscription.close()
    await this.#http.close()
  }

  #ask<R extends CustomerRevision>(
    holder: CustomerHolder,
    settings: DetailsSettings,
    questionsMax: number,
    read: (value: unknown, path: string) => R,
  ): AskDetails<R> {
    const { elapsedMs } = this.#options
    this.#states.set(holder, 'closed')
    this.#calls[holder] = {}
    const onChange = (state: CircuitState) => this.#changed(holder, state)
    const batcher = new QueryBatcher<DetailsQuestion, readonly R[]>({
      call: (questions) =>
        this.#withKept(holder, questions, (left) =>
          askDetails({ http: this.#http, settings, read }, left),
        ),
      questionsMax,
      callsMax: CALLS_MAX,
      waitingMax: WAITING_MAX,
      gatherMs: GATHER_MS,
      circuit: new CircuitBreaker({ ...CIRCUIT, elapsedMs, onChange }),
      onCall: (failure) => this.#called(holder, failure),
    })
    return (question) => batcher.ask(nameOf(question), question)
  }

  /** Without MongoDB everything is asked for. */
  async #withKept<R extends CustomerRevision>(
    holder: CustomerHolder,
    questions: readonly DetailsQuestion[],
    ask: (questions: readonly DetailsQuestion[]) => Promise<readonly (readonly R[] | Error)[]>,
  ): Promise<readonly (readonly R[] | Error)[]> {
    if (!this.#usesKept) return ask(questions)
    const { findKept } = this.#options
    const kept = await findKept(holder, questions).catch(() => questions.map(() => null))
    const left = questions.filter((_, index) => kept[index] === null)
    const answers = left.length === 0 ? [] : await ask(left)
    let next = 0
    return kept.map((fields) => {
      if (fields !== null) return [keptRevision(fields) as R]
      next += 1
      return answers[next - 1] ?? []
    })
  }

  #changed(holder: CustomerHolder, state: CircuitState): void {
    this.#states.set(holder, state)
    this.#report()
  }

  #called(holder: CustomerHolder, failure: CustomerSystemError | null): void {
    const outcome = failure?.kind ?? 'ok'
    const counts = this.#calls[holder] as Record<string, number>
    // The first failure of a kind is logged; all are counted.
    if (failure !== null && counts[outcome] === undefined) {
      this.#options.log.warn({ err: failure, call: holder }, 'a call of the customer system failed')
    }
    counts[outcome] = (counts[outcome] ?? 0) + 1
    this.#reportLater()
  }

  #reportLater(): void {
    if (this.#isClosed) return
    this.#timer ??= setTimeout(() => this.#report(), REPORT_MS).unref()
  }

  #report(): void {
    if (this.#timer !== null) clearTimeout(this.#timer)
    this.#timer = null
    const { worker, emit } = this.#options
    const calls = [...this.#states].map(([call, circuit]) => ({
      call,
      circuit,
      outcomes: { ...this.#calls[call] },
    }))
    emit({ kind: 'customerSystem', worker, calls, stale: this.#stale })
  }
}

function keptRevision(fields: CustomerRevision['fields']): CustomerRevision | SubscriberRevision {
  const { aid, sid, from, to } = fields as typeof fields & { aid: number; sid?: number }
  return { aid, from, to, fields, ...(sid !== undefined && { sid }) }
}

function nameOf({ key, value, atMs, limit }: DetailsQuestion): string {
  return `${key}:${value}@${Math.floor(atMs / 1000)}:${limit}`
}
