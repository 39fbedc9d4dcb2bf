/** Creates, finds, changes and deletes prepaid cards, in transactions with their audit records. */
import type { Actor } from '../../catalog/actor.ts'
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession, Filter, WithId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { CardDocument, CardStatus } from '../../catalog/records/card.ts'
import { validAt } from '../../catalog/revisions/validity.ts'
import { isDuplicate, isInserted } from '../../catalog/transactions/duplicate.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { NoCardError } from './guesses.ts'
import { cardKey } from './redeem.ts'
import { displayStatus, statesBefore } from './states.ts'

export interface CardStores {
  catalog: Catalog
  actor: Actor
  nowMs: number
}

/** A number, or a range with both ends. */
export type NumberCondition = number | { readonly from: number; readonly to: number }

export interface CardQuery {
  batchNumber: NumberCondition
  serialNumber?: NumberCondition | undefined
  status?: CardStatus | undefined
  /** Digest of the secret. */
  digest?: string | undefined
}

export type CardChange = Partial<
  Pick<
    CardDocument,
    'status' | 'batch_number' | 'serial_number' | 'charging_plan_name' | 'service_provider' | 'to'
  >
>

/** A card exists with the secret or with the numbers. */
export class CardExistsError extends EntityRuleError {
  override name = 'CardExistsError'
  /** Whether it has the secret. */
  readonly isSecret: boolean

  constructor(what: string, isSecret: boolean) {
    super(`${what} exists already`, 'refused')
    this.isSecret = isSecret
  }
}

/** Fields that the cards of a call have in common. */
const DETAILS = ['batch_number', 'charging_plan_name', 'service_provider', 'to'] as const

/**
 * Creates all cards or none. Rejects with `CardExistsError` that names the first card that exists,
 * by its position or numbers, or with `EntityRuleError` for an unknown charging plan.
 */
export async function createCards(
  { catalog, actor, nowMs }: CardStores,
  cards: readonly CardDocument[],
): Promise<WithId<CardDocument>[]> {
  await refuseUnknownPlans(catalog, cards, nowMs)
  refuseEqualCards(cards)
  return insertCards({ catalog, actor, nowMs }, cards, 'create')
}

/**
 * Stores all cards or none, with audit records of this type. Rejects with `CardExistsError` like
 * `createCards`.
 */
export async function insertCards(
  { catalog, actor, nowMs }: CardStores,
  cards: readonly CardDocument[],
  type: 'create' | 'import',
): Promise<WithId<CardDocument>[]> {
  return catalog.transaction(`${type} cards`, async (session) => {
    await refuseStoredCards(catalog, session, cards)
    const inserted = cards.map((card) => ({ ...card })) as WithId<CardDocument>[]
    // The driver adds the ids.
    await insertAll(catalog, session, inserted)
    for (const [batch, of] of groupedByBatch(cards)) {
      const serials = of.map(({ serial_number }) => serial_number)
      const first = of[0] as CardDocument
      const common = Object.fromEntries(DETAILS.map((name) => [name, first[name]]))
      const range = { from: Math.min(...serials), to: Math.max(...serials) }
      const created = { ...common, serial_numbers: range, count: of.length }
      const entry = { collection: 'cards', type, key: String(batch), new: created }
      appendAudit(session, actor, nowMs, entry)
    }
    return inserted
  })
}

function groupedByBatch(cards: readonly CardDocument[]): Map<number, CardDocument[]> {
  const groups = new Map<number, CardDocument[]>()
  for (const card of cards) {
    const group = groups.get(card.batch_number)
    if (group === undefined) groups.set(card.batch_number, [card])
    else group.push(card)
  }
  return groups
}

export async function refuseUnknownPlans(
  catalog: Catalog,
  cards: readonly Pick<CardDocument, 'charging_plan_name'>[],
  nowMs: number,
): Promise<void> {
  for (const name of new Set(cards.map(({ charging_plan_name }) => charging_plan_name))) {
    const found = await catalog.prepaidgroups.findOne({ name, ...validAt(nowMs) } as object, {
      projection: { _id: 1 },
    })
    if (found !== null) continue
    throw fieldRule('charging_plan_name:', `there is no charging plan ${name} now`)
  }
}

function refuseEqualCards(cards: readonly CardDocument[]): void {
  const secrets = new Set<string>()
  const numbers = new Set<string>()
  for (const [index, card] of cards.entries()) {
    if (secrets.has(card.secret_hmac)) throw secretExists(index)
    if (numbers.has(cardKey(card))) throw new CardExistsError(`card ${cardKey(card)}`, false)
    secrets.add(card.secret_hmac)
    numbers.add(cardKey(card))
  }
}

function secretExists(index: number): CardExistsError {
  return new CardExistsError(`a card with the secret of cards.${index}`, true)
}

async function refuseStoredCards(
  catalog: Catalog,
  session: ClientSession,
  cards: readonly CardDocument[],
): Promise<void> {
  const digests = cards.map(({ secret_hmac }) => secret_hmac)
  const stored = await storedCards(catalog, cards, session)
  const bySecret = stored.find(({ secret_hmac }) => digests.includes(secret_hmac))
  if (bySecret !== undefined) throw secretExists(digests.indexOf(bySecret.secret_hmac))
  const [byNumber] = stored
  if (byNumber !== undefined) throw new CardExistsError(`card ${cardKey(byNumber)}`, false)
}

/** Stored cards that have the secret or the numbers of one of these. */
export async function storedCards(
  catalog: Catalog,
  cards: readonly CardDocument[],
  session?: ClientSession,
): Promise<WithId<CardDocument>[]> {
  const find = (filter: Filter<CardDocument>) =>
    catalog.cards.find(filter, session === undefined ? {} : { session }).toArray()
  const digests = cards.map(({ secret_hmac }) => secret_hmac)
  const stored = await find({ secret_hmac: { $in: digests } })
  for (const [batch_number, of] of groupedByBatch(cards)) {
    const serials = of.map(({ serial_number }) => serial_number)
    stored.push(...(await find({ batch_number, serial_number: { $in: serials } })))
  }
  return stored
}

async function insertAll(
  catalog: Catalog,
  session: ClientSession,
  cards: CardDocument[],
): Promise<void> {
  if (!(await isInserted(catalog.cards.insertMany(cards, { session })))) {
    throw fieldRule('cards:', 'one of them exists already')
  }
}

/** In the order of their numbers. */
export function findCards(
  { catalog }: Pick<CardStores, 'catalog'>,
  query: CardQuery,
  { page, size }: { page: number; size: number },
): Promise<WithId<CardDocument>[]> {
  return catalog.reads.cards
    .find(filterOf(query))
    .sort({ batch_number: 1, serial_number: 1 })
    .skip(page * size)
    .limit(size)
    .toArray()
}

/**
 * Changes the cards that may be changed so, and returns their number: those that were used never
 * change, and a state can be entered from some states only. Many are changed in several
 * transactions. Rejects with `EntityRuleError` without such cards.
 */
export async function updateCards(
  { catalog, actor, nowMs }: CardStores,
  query: CardQuery,
  change: CardChange,
): Promise<number> {
  const { status, charging_plan_name } = change
  if (charging_plan_name !== undefined) {
    await refuseUnknownPlans(catalog, [{ charging_plan_name }], nowMs)
  }
  const before = status === undefined ? undefined : statesBefore(status)
  const allowed = before === undefined ? { $ne: 'Used' as const } : { $in: [...before] }
  const isRenumbered = change.batch_number !== undefined || change.serial_number !== undefined
  const updated = await inParts(
    { catalog, query, status: allowed, size: isRenumbered ? 0 : PART },
    async (session, cards) => {
      const { modifiedCount, matchedCount } = await catalog.cards
        .updateMany(cards, { $set: change }, { session })
        .catch((error: unknown) => {
          throw isDuplicate(error) ? fieldRule('update:', 'such a card exists already') : error
        })
      const { batchNumber, serialNumber, status: from } = query
      const old = { serial_numbers: serialNumber, status: from, count: modifiedCount }
      const entry = { collection: 'cards', type: 'update', key: keyOf(batchNumber) }
      appendAudit(session, actor, nowMs, { ...entry, old, new: change })
      return matchedCount
    },
  )
  if (updated === 0) throw await whyNone(catalog, query, status)
  return updated
}

/** Cards of one transaction. */
const PART = 1_000

interface Selected {
  catalog: Catalog
  query: CardQuery
  status: { $ne: CardStatus } | { $in: CardStatus[] }
  /** Cards of one transaction; 0 for all of them. */
  size: number
}

/** Calls `act` with a filter for each part, in its transaction; returns the sum of its results. */
async function inParts(
  { catalog, query, status, size }: Selected,
  act: (session: ClientSession, cards: Filter<CardDocument>) => Promise<number>,
): Promise<number> {
  let sum = 0
  let last: WithId<CardDocument> | undefined
  do {
    const after = last === undefined ? {} : positionAfter(query, last)
    const filter: Filter<CardDocument> = { $and: [filterOf(query), { status }, after] }
    const part = await catalog.transaction('change cards', async (session) => {
      const found = await catalog.cards
        .find(filter, { session, projection: { batch_number: 1, serial_number: 1 } })
        .sort({ batch_number: 1, serial_number: 1 })
        .limit(size)
        .toArray()
      const ids = found.map(({ _id }) => _id)
      const count = ids.length === 0 ? 0 : await act(session, { _id: { $in: ids }, status })
      return { found, count }
    })
    sum += part.count
    last = part.found.length === size ? part.found.at(-1) : undefined
  } while (last !== undefined)
  return sum
}

/** In the order of the numbers. */
function positionAfter(
  { batchNumber }: CardQuery,
  { batch_number, serial_number }: CardDocument,
): Filter<CardDocument> {
  const within = { batch_number, serial_number: { $gt: serial_number } }
  if (typeof batchNumber === 'number') return within
  return { $or: [within, { batch_number: { $gt: batch_number } }] }
}

async function whyNone(
  catalog: Catalog,
  query: CardQuery,
  status: CardStatus | undefined,
): Promise<EntityRuleError> {
  const found = await catalog.cards.findOne(filterOf(query))
  if (found === null) return new NoCardError(NONE)
  if (status === undefined)
    return new EntityRuleError('cards that were used cannot be changed', 'refused')
  const [from, to] = [displayStatus(found.status), displayStatus(status)]
  const before = statesBefore(status).map(displayStatus).join(', ') || 'no state'
  return fieldRule('status:', `${from} cannot become ${to}; only ${before} can`)
}

export const NONE = 'there is no such card'

/**
 * Returns the number of deleted cards, of which many are deleted in several transactions. Those
 * that were used stay: they are records of loads.
 */
export async function deleteCards(
  { catalog, actor, nowMs }: CardStores,
  query: CardQuery,
): Promise<number> {
  const selected = { catalog, query, status: { $ne: 'Used' as const }, size: PART }
  const deleted = await inParts(selected, async (session, cards) => {
    const { deletedCount } = await catalog.cards.deleteMany(cards, { session })
    const { batchNumber, serialNumber, status } = query
    const old = { serial_numbers: serialNumber, status, count: deletedCount }
    const entry = { collection: 'cards', type: 'delete', key: keyOf(batchNumber), old }
    appendAudit(session, actor, nowMs, entry)
    return deletedCount
  })
  if (deleted > 0) return deleted
  const used = await catalog.cards.findOne(filterOf(query))
  if (used === null) throw new NoCardError(NONE)
  throw new EntityRuleError('cards that were used cannot be deleted', 'refused')
}

function keyOf(condition: NumberCondition): string {
  return typeof condition === 'number' ? String(condition) : `${condition.from}-${condition.to}`
}

function filterOf({ batchNumber, serialNumber, status, digest }: CardQuery): Filter<CardDocument> {
  return {
    batch_number: conditionOf(batchNumber),
    ...(serialNumber !== undefined && { serial_number: conditionOf(serialNumber) }),
    ...(status !== undefined && { status }),
    ...(digest !== undefined && { secret_hmac: digest }),
  }
}

function conditionOf(condition: NumberCondition) {
  if (typeof condition === 'number') return condition
  return { $gte: condition.from, $lte: condition.to }
}

/** The cards of a batch by state. */
export async function countCards(
  catalog: Catalog,
  batch_number: number,
): Promise<{ status: CardStatus; count: number }[]> {
  const found = await catalog.reads.cards
    .aggregate<{ _id: CardStatus; count: number }>([
      { $match: { batch_number } },
      { $group: { _id: '$status', count: { $sum: 1 } } },
      { $sort: { _id: 1 } },
    ])
    .toArray()
  return found.map(({ _id: status, count }) => ({ status, count }))
}
