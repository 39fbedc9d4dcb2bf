/** Parts of profiles from a customer system: subscribers, accounts, or both. */
import { createHash } from 'node:crypto'
import { compileAccountFields, compileSubscriberFields } from '../../catalog/compile/profile.ts'
import { PoolTooLargeError } from '../../catalog/errors.ts'
import {
  type AccountAnswer,
  type AccountAt,
  POOL_MEMBERS_MAX,
  type PoolOf,
  type ProfileParts,
  poolOf,
} from '../../catalog/feed/profiles.ts'
import type { FoundRevision, SubscriberQuery } from '../../catalog/feed/subscribers.ts'
import type { Revision } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import type { DetailsQuestion } from '../../external/customers/details.ts'
import type { CustomerRevision, SubscriberRevision } from '../../external/customers/revisions.ts'

/** Asks one question; many at the same time share a call. Rejects with `CustomerSystemError`. */
export type AskDetails<R extends CustomerRevision> = (
  question: DetailsQuestion,
) => Promise<readonly R[]>

/** Null for entities of the node. */
export interface CustomerQuestions {
  readonly subscriber: AskDetails<SubscriberRevision> | null
  readonly account: AskDetails<CustomerRevision> | null
}

/** `stored`: what the customer system does not have. */
export function customerParts(
  stored: ProfileParts,
  { subscriber, account }: CustomerQuestions,
): ProfileParts {
  return {
    ...stored,
    ...(subscriber !== null && subscriberParts(subscriber)),
    ...(account !== null && {
      accounts: (instants: readonly AccountAt[]) =>
        Promise.all(instants.map((instant) => accountOf(account, instant))),
    }),
  }
}

function subscriberParts(ask: AskDetails<SubscriberRevision>): Omit<ProfileParts, 'accounts'> {
  return {
    revisions: (queries) => Promise.all(queries.map((query) => revisionOf(ask, query))),
    // Later revisions are unknown: the age of answers is limited instead.
    nextStarts: async (found) => found.map(() => Number.POSITIVE_INFINITY),
    planStarts: async (found) => found.map(() => undefined),
    pools: (instants) => poolsOf(ask, instants),
  }
}

async function revisionOf(
  ask: AskDetails<SubscriberRevision>,
  query: SubscriberQuery,
): Promise<FoundRevision | Error | null> {
  const { key, atMs } = query
  // As for entities of the node, "0018" equals 18.
  const value = key === 'sid' ? numberIn(query.value) : query.value
  if (value === null) return null
  try {
    const { current, untilMs } = inForce(await ask({ key, value, atMs, limit: 1 }), atMs)
    if (current === null) return null
    const profile = compileSubscriberFields(current.fields, () => revisionIn(current, current.sid))
    const validUntilMs = Math.min(profile.toMs, untilMs)
    return { query, profile, hasPlanStart: true, validUntilMs }
  } catch (error) {
    return errorOf(error)
  }
}

async function accountOf(
  ask: AskDetails<CustomerRevision>,
  { aid, atMs }: AccountAt,
): Promise<AccountAnswer> {
  try {
    const question = { key: 'aid', value: aid, atMs, limit: 1 }
    const { current, untilMs } = inForce(await ask(question), atMs)
    if (current === null) return { part: null, untilMs }
    const part = compileAccountFields(current.fields, () => revisionIn(current, 0))
    return { part, untilMs: Math.min(part.toMs, untilMs) }
  } catch (error) {
    return errorOf(error)
  }
}

/** All subscribers of each account at its instant. */
async function poolsOf(
  ask: AskDetails<SubscriberRevision>,
  instants: readonly AccountAt[],
): Promise<PoolOf> {
  const pools = await Promise.all(
    instants.map(async ({ aid, atMs }) => {
      try {
        const question = { key: 'aid', value: aid, atMs, limit: POOL_MEMBERS_MAX + 1 }
        const revisions = await ask(question)
        if (revisions.length > POOL_MEMBERS_MAX) return new PoolTooLargeError(aid, POOL_MEMBERS_MAX)
        const holding = revisions.filter((revision) => isInForce(revision, atMs))
        const laterMs = revisions.map(({ from }) => from.getTime()).filter((from) => from > atMs)
        const compiles = holding.map(
          (revision) => () =>
            compileSubscriberFields(revision.fields, () => revisionIn(revision, revision.sid)),
        )
        return poolOf(compiles, Math.min(Number.POSITIVE_INFINITY, ...laterMs))
      } catch (error) {
        return errorOf(error)
      }
    }),
  )
  const named = new Map(instants.map(({ aid, atMs }, index) => [`${aid}@${atMs}`, pools[index]]))
  return ({ aid, atMs }) => named.get(`${aid}@${atMs}`) ?? new Error('a pool was not asked for')
}

/** The revision at the instant, and when the next one starts. */
function inForce<R extends CustomerRevision>(
  revisions: readonly R[],
  atMs: number,
): { current: R | null; untilMs: number } {
  const current = revisions.find((revision) => isInForce(revision, atMs)) ?? null
  const next = revisions.find(({ from }) => from.getTime() > atMs)
  return { current, untilMs: next?.from.getTime() ?? Number.POSITIVE_INFINITY }
}

function isInForce({ from, to }: CustomerRevision, atMs: number): boolean {
  return from.getTime() <= atMs && atMs < to.getTime()
}

/** Its id changes with its content: sessions then close the segment with the old price. */
function revisionIn({ aid, from, to, fields }: CustomerRevision, sid: number): Revision {
  const fromMs = from.getTime()
  const toMs = Math.min(to.getTime(), FOREVER_MS)
  if (!(toMs > fromMs)) throw new FieldError('to', 'must be after from')
  const digest = createHash('sha256').update(JSON.stringify(fields)).digest('base64url')
  return { id: `${aid}.${sid}.${digest.slice(0, DIGEST_LENGTH)}`, fromMs, toMs }
}

const DIGEST_LENGTH = 16

function numberIn(text: string): number | null {
  const number = /^\d{1,16}$/.test(text) ? Number(text) : 0
  return Number.isSafeInteger(number) && number > 0 ? number : null
}

function errorOf(error: unknown): Error {
  if (error instanceof Error) return error
  throw error
}
