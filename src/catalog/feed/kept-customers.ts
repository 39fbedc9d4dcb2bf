/**
 * Customers that answers to the billing cycle have brought (`account.cache_gba_to_gsd`), so that
 * charging need not ask for them again.
 */
import type { Fields } from '../../domain/fields.ts'
import type { AnyBulkWriteOperation } from '../collections.ts'
import type { Catalog } from '../connection.ts'
import type { CustomerDocument } from '../records/customer-document.ts'

type Revision = Fields & { readonly from: Date; readonly to: Date }

export interface KeptAccount {
  readonly aid: number
  readonly account: readonly Revision[]
  readonly subscribers: readonly Revision[]
}

/** Fields by which subscribers are found; questions with other ones are not answered. */
const KEYS = ['sid', 'msisdn', 'imsi'] as const

/** Removes those that have expired. */
export async function keepCustomers(
  catalog: Catalog,
  accounts: readonly KeptAccount[],
  { nowMs, ttlMs }: { readonly nowMs: number; readonly ttlMs: number },
): Promise<void> {
  const expires = new Date(nowMs + ttlMs)
  const documents = accounts.flatMap(({ aid, account, subscribers }): CustomerDocument[] => {
    const bySid = new Map<number, Revision[]>()
    for (const each of subscribers) {
      const sid = Number(each['sid'])
      bySid.set(sid, [...(bySid.get(sid) ?? []), each])
    }
    const key = `aid:${aid}`
    return [
      { _id: `account:${aid}`, keys: [key], revisions: [...account], expires },
      ...[...bySid].map(([sid, revisions]) => {
        return { _id: `subscriber:${sid}`, keys: keysOf(revisions), revisions, expires }
      }),
    ]
  })
  if (documents.length === 0) return
  const writes: AnyBulkWriteOperation<CustomerDocument>[] = documents.map((replacement) => ({
    replaceOne: { filter: { _id: replacement._id }, replacement, upsert: true },
  }))
  await catalog.customers.bulkWrite(writes, { ordered: false })
  await catalog.customers.deleteMany({ expires: { $lte: new Date(nowMs) } })
}

function keysOf(revisions: readonly Revision[]): string[] {
  const keys = KEYS.flatMap((name) =>
    revisions.flatMap((revision) => valuesOf(revision[name]).map((value) => `${name}:${value}`)),
  )
  return [...new Set(keys)]
}

function valuesOf(value: unknown): string[] {
  const isPlain = (each: unknown) => typeof each === 'string' || typeof each === 'number'
  return [value].flat().filter(isPlain).map(String)
}

export interface KeptQuestion {
  readonly key: string
  readonly value: string | number
  readonly atMs: number
  /** Only questions for a single holder are answered. */
  readonly limit: number
}

/**
 * For each question the revision in force at its instant; null if it has to be asked for. An answer
 * is not used for questions that several holders could answer.
 */
export async function keptCustomers(
  catalog: Catalog,
  kind: 'account' | 'subscriber',
  questions: readonly KeptQuestion[],
  now: Date,
): Promise<(Revision | null)[]> {
  const keys = [...new Set(questions.map(({ key, value }) => `${key}:${value}`))]
  const found = await catalog.customers
    .find({ keys: { $in: keys }, expires: { $gt: now } })
    .toArray()
  return questions.map(({ key, value, atMs, limit }) => {
    if (limit !== 1) return null
    const inForce = found
      .filter(({ _id, keys: own }) => _id.startsWith(kind) && own.includes(`${key}:${value}`))
      .flatMap(({ revisions }) => revisions as unknown as Revision[])
      .filter(({ from, to }) => from.getTime() <= atMs && atMs < to.getTime())
      .filter((revision) => valuesOf(revision[key]).includes(String(value)))
    return inForce.length === 1 ? (inForce[0] ?? null) : null
  })
}

/** Removes an account with its subscribers, a subscriber, or all of them; 0: none in particular. */
export async function forgetCustomers(
  catalog: Catalog,
  { aid, sid }: { readonly aid: number; readonly sid: number },
): Promise<void> {
  const ofAccount = aid === 0 ? {} : { 'revisions.aid': aid }
  const filter = sid === 0 ? ofAccount : { _id: `subscriber:${sid}` }
  await catalog.customers.deleteMany(filter)
}
