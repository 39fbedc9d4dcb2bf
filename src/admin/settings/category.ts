/** What there is to know of a category of the stored configuration. */
import type { Catalog } from '../../catalog/connection.ts'
import type { StoredCategory } from '../../catalog/settings/stored-config.ts'

export interface Category {
  readonly name: StoredCategory
  /** For people: a sentence. */
  readonly about: string
  /** Who may read it; only `admin` writes. */
  readonly readRole: 'read' | 'admin'
  /** A list whose members have a name in this field: one can be set by itself. */
  readonly memberName?: string
  /**
   * Refuses a value as it would be stored in the place of another. Throws `FieldError`, or
   * `EntityRuleError` of rating, with the path.
   */
  check(value: unknown, stored: unknown): void
  /** Refuses what only the store can tell. Rejects as `check`, or if MongoDB is away. */
  verify?(value: unknown, stored: unknown, where: VerifyContext): Promise<void>
  /** All of a stored value but its secrets, whatever was stored. Never throws. */
  view?(stored: unknown): unknown
  /**
   * What is stored of a value as `shown` makes it that was changed: secrets that are not in it stay
   * what they are. Throws as `check`.
   */
  merge?(value: unknown, stored: unknown): unknown
  /** What holds: the stored value with what comes from elsewhere. Throws as `check`. */
  effective?(stored: unknown): unknown
  /** It is changed in a way of its own. */
  readonly special?: SpecialChanges
}

export interface VerifyContext {
  readonly catalog: Catalog
  readonly nowMs: number
}

/** What becomes of the value, and what the answer to this call alone tells. */
export interface SpecialChange {
  readonly value: unknown
  readonly response: unknown
}

/** Of a category that is no value to be replaced, but a list of things that are made and ended. */
export interface SpecialChanges {
  /** Both may be called again, and must not touch `stored`. They throw as `Category.check`. */
  set(stored: unknown, data: unknown, nowMs: number): SpecialChange
  unset(stored: unknown, data: unknown): SpecialChange
}

/** What cannot be changed while the node runs. */
export interface FixedCategory {
  readonly about: string
  readonly value: unknown
  /** How it is changed instead. */
  readonly instead: string
}

/** All that there are, by name. */
export interface Categories {
  readonly stored: ReadonlyMap<string, Category>
  readonly fixed: ReadonlyMap<string, FixedCategory>
}
