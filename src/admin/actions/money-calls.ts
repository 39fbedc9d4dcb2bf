/** Runs money actions: once per idempotency key, each with its answer in its own transaction. */
import { createHash, randomUUID } from 'node:crypto'
import {
  admitCall,
  type Claim,
  ClaimLostError,
  forgetKeys,
  type KeyedCall,
  partsOf,
  releaseClaim,
  storeAnswer,
  storePart,
} from '../../billing/idempotency.ts'
import { MoneyGroup } from '../../billing/money-group.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { isObject } from '../../domain/fields.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type {
  Action,
  ActionAnswer,
  ActionCall,
  CommitPart,
  MoneyCall,
  PartResults,
} from './action.ts'
import { envelopeOf, plainParameters } from './envelope.ts'

/** Interval of removing old keys. */
const FORGET_MS = 3_600_000

/** Begins the keys of calls that have none; callers cannot send a space. */
const UNNAMED = 'call'

/** Returns the body of the answer as text, so that a repetition gets the same bytes. */
export type MoneyCalls = (
  action: Action,
  raw: RawParameters,
  key: string | null,
  call: ActionCall,
) => Promise<string>

/** One per process. */
export function createMoneyCalls(catalog: Catalog): MoneyCalls {
  const group = new MoneyGroup(catalog)
  let forgottenMs = Number.NEGATIVE_INFINITY
  return async (action, raw, key, call) => {
    const isTracked = key === null && action.isTracked?.(raw) === true
    const kept = isTracked ? `${UNNAMED} ${randomUUID()}` : key
    if (kept === null) return new Attempt(action, raw, call, { group, claim: null }).run()
    if (call.nowMs - forgottenMs >= FORGET_MS) {
      forgottenMs = call.nowMs
      await forgetKeys(call)
    }
    return runOnce(action, raw, kept, call, group)
  }
}

async function runOnce(
  action: Action,
  raw: RawParameters,
  key: string,
  call: ActionCall,
  group: MoneyGroup,
): Promise<string> {
  const keyed: KeyedCall = {
    action: action.name,
    caller: call.actor.id,
    key,
    digest: createHash('sha256')
      .update(JSON.stringify(sameSpelling(plainParameters(raw))))
      .digest('hex'),
  }
  for (;;) {
    const admitted = await admitCall(call, keyed)
    if ('answer' in admitted) return admitted.answer
    const attempt = new Attempt(action, raw, call, { group, claim: admitted.claim })
    try {
      return await attempt.run()
    } catch (error) {
      if (!(error instanceof ClaimLostError)) throw error
    } finally {
      if (!attempt.isCommitted) await releaseClaim(call, admitted.claim).catch(() => undefined)
    }
  }
}

const DECIMAL = /^-?(0|[1-9]\d*)(\.\d+)?$/

/**
 * Equal values in one spelling, as forms and JSON write them: numbers without trailing zeros,
 * members by name, JSON texts as what they contain. Other texts, such as `007`, are kept.
 */
export function sameSpelling(value: unknown): unknown {
  if (typeof value === 'boolean') return String(value)
  if (typeof value === 'number' || typeof value === 'bigint') return sameSpelling(String(value))
  if (typeof value === 'string') return textOf(value)
  if (Array.isArray(value)) return value.map(sameSpelling)
  if (!isObject(value)) return value
  const members = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1))
  return Object.fromEntries(members.map(([name, each]) => [name, sameSpelling(each)]))
}

function textOf(text: string): unknown {
  if (DECIMAL.test(text)) {
    const plain = text.includes('.') ? text.replace(/\.?0+$/, '') : text
    return plain === '-0' ? '0' : plain
  }
  if (!/^\s*[[{]/.test(text)) return text
  try {
    return sameSpelling(JSON.parse(text))
  } catch {
    return text
  }
}

/** One run of an action, with the claim of its key if it has one. */
class Attempt {
  readonly #action: Action
  readonly #raw: RawParameters
  readonly #call: ActionCall
  readonly #group: MoneyGroup
  readonly #claim: Claim | null
  #text: string | null = null
  #parts: Promise<Map<number, PartResults>> | null = null

  constructor(
    action: Action,
    raw: RawParameters,
    call: ActionCall,
    { group, claim }: { readonly group: MoneyGroup; readonly claim: Claim | null },
  ) {
    this.#action = action
    this.#raw = raw
    this.#call = call
    this.#group = group
    this.#claim = claim
  }

  get isCommitted(): boolean {
    return this.#text !== null
  }

  async run(): Promise<string> {
    const call: MoneyCall = {
      ...this.#call,
      callId: this.#claim?.id ?? '',
      commit: (what, write, aids) => this.#commit(what, write, aids),
      commitPart: (part, run) => this.#commitPart(part, run),
    }
    const answer = await this.#action.call(this.#raw, call)
    // An answer without a commit, such as a refusal, is not kept: nothing has moved.
    return this.#text ?? this.#textOf(answer)
  }

  #textOf(answer: ActionAnswer): string {
    return JSON.stringify(envelopeOf(this.#action, this.#raw, answer))
  }

  async #commit<T extends ActionAnswer>(
    what: string,
    write: (session: ClientSession) => Promise<T>,
    aids: readonly number[] | undefined,
  ): Promise<T> {
    const writeAll = async (session: ClientSession) => {
      const answer = await write(session)
      const text = this.#textOf(answer)
      if (this.#claim !== null) storeAnswer(session, this.#claim, text)
      return { answer, text }
    }
    const { answer, text } =
      aids === undefined
        ? await this.#call.catalog.transaction(what, writeAll)
        : await this.#group.run({ what, aids, write: writeAll })
    this.#text = text
    return answer
  }

  async #commitPart(
    part: number,
    run: (commit: CommitPart) => Promise<PartResults>,
  ): Promise<PartResults> {
    const { catalog } = this.#call
    const claim = this.#claim
    if (claim !== null) {
      this.#parts ??= partsOf(catalog, claim)
      const known = (await this.#parts).get(part)
      if (known !== undefined) return known
    }
    return run((what, write) =>
      catalog.transaction(what, async (session) => {
        const results = await write(session)
        if (claim !== null) {
          storePart(this.#call, session, claim, { part, results: [...results] })
        }
        return results
      }),
    )
  }
}
