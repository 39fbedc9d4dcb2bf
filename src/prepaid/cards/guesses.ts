/** Limits attempts at secrets of prepaid cards; each refused one is counted and audited. */
import type { Actor } from '../../catalog/actor.ts'
import { beginGuess, forgetGuesses } from '../../identity/attempts.ts'
import type { AuthDeps } from '../../identity/auth-deps.ts'
import { networkOf } from '../../identity/networks.ts'
import { createRefusalAudit, HOUR_MS } from '../../identity/refusal-audit.ts'
import { EntityRuleError, RequestError } from '../../requests/errors.ts'
import type { Metrics } from '../../runtime/metrics.ts'

export interface Guess {
  readonly actor: Actor
  /** The subscriber or account to load (`sid 7`); the caller if a card is only looked up. */
  readonly subject: string
}

export interface CardGuesses {
  /**
   * Looks up a card; `find` rejects with `NoCardError` if no card has the secret. Earlier wrong
   * secrets stay counted: to find a card that one knows proves nothing. Rejects with
   * `RequestError` 429 while the caller or the subject must wait.
   */
  attempt<T>(guess: Guess, find: () => Promise<T>): Promise<T>
  /** A card has been loaded for the first time: forgets the wrong secrets of its subject. */
  loaded(subject: string): Promise<void>
}

export type CardGuessDeps = Pick<AuthDeps, 'keys' | 'settings' | 'audit' | 'clock' | 'log'> & {
  readonly metrics: Pick<Metrics, 'cardSecretRefused'>
}

/** No card has the secret that was sent. */
export class NoCardError extends EntityRuleError {
  constructor(message: string) {
    super(message, 'target')
  }
}

class TooManyGuessesError extends RequestError {
  override readonly headers: Readonly<Record<string, string>>

  constructor(leftMs: number) {
    super(429, 'too many wrong secrets of cards: wait before the next one')
    this.headers = { 'retry-after': String(Math.max(1, Math.ceil(leftMs / 1000))) }
  }
}

export function createCardGuesses(deps: CardGuessDeps): CardGuesses {
  const message = 'secrets of cards are refused'
  const refusals = createRefusalAudit(deps, { periodMs: HOUR_MS, message })
  const refuse = async (actor: Actor, key: string, reason: 'wrong' | 'limit') => {
    deps.metrics.cardSecretRefused(reason)
    const entry = { collection: 'cards', type: 'refused', key, new: { reason } }
    await refusals.record({ entry, actor, reason, account: `${callerOf(actor)} ${key}` })
  }
  return {
    async attempt({ actor, subject }, find) {
      const caller = callerOf(actor)
      const begun = await beginGuess(deps, {
        subject: keyOf(subject),
        caller: `cards ${caller}`,
      })
      if ('refused' in begun) {
        await refuse(actor, actor.name, 'limit')
        throw new TooManyGuessesError(begun.refused.retryAfterMs)
      }
      try {
        const found = await find()
        await begun.cancelled()
        return found
      } catch (error) {
        if (error instanceof NoCardError) await refuse(actor, subject, 'wrong')
        else await begun.cancelled()
        throw error
      }
    },
    loaded: (subject) => forgetGuesses(deps.keys, keyOf(subject)),
  }
}

const keyOf = (subject: string) => `cards ${subject}`

/** The network identifies callers of an open port. */
function callerOf({ by, id, address }: Actor): string {
  return by === 'open' ? `open ${networkOf(address)}` : `${by} ${id}`
}
