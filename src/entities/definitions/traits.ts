/** Traits of collections, so that code for all of them need not compare names. */
import type { ActionName, CollectionDefinition } from './definition.ts'

interface Traits {
  /** Writes with `details: null` in the response, as existing clients expect. */
  answersNull(action: ActionName): boolean
  /** In files, a line is one price of an entity with its tax: several lines are one entity. */
  readonly hasPriceLines: boolean
  /** Entities belong to an account, which the linker of an import may identify. */
  readonly isLinked: boolean
  /** Subscribers belong to the entity, and are erased with it. */
  readonly hasSubscribers: boolean
  /** Network elements identify the entity by its configured fields. */
  readonly isIdentified: boolean
  /** A write moves a balance: it has an idempotency key, and the line in its response. */
  readonly writesLine: boolean
  /** In the response to a write the document is not stored yet, and has no `_id`. */
  readonly isStoredLater: boolean
  /** Only the node writes documents: all of their fields are described. */
  readonly isDescribed: boolean
  /** Documents have texts about a customer that someone typed, such as reasons. */
  readonly hasFreeTexts: boolean
}

const onCreate = (action: ActionName) => action === 'create'

const TRAITS: Readonly<Record<string, Partial<Traits>>> = {
  accounts: { hasSubscribers: true },
  subscribers: { answersNull: onCreate, isLinked: true, isIdentified: true },
  rates: { hasPriceLines: true },
  users: { answersNull: (action) => !onCreate(action) },
  autorenew: { answersNull: onCreate },
  balances: { writesLine: true, isDescribed: true },
  lines: { isStoredLater: true, isDescribed: true, hasFreeTexts: true },
  audit: { isDescribed: true },
  jobs: { isDescribed: true },
  bills: { hasFreeTexts: true },
}

type NamedCollection = Pick<CollectionDefinition, 'name'>

export function answersNull({ name }: NamedCollection, action: ActionName): boolean {
  return TRAITS[name]?.answersNull?.(action) === true
}

export function hasTrait(
  { name }: NamedCollection,
  trait: Exclude<keyof Traits, 'answersNull'>,
): boolean {
  return TRAITS[name]?.[trait] === true
}
