/** Description of a category of the stored configuration. */
import type { Catalog } from '../../catalog/connection.ts'
import type { StoredCategory } from '../../catalog/settings/stored-config.ts'

export interface Category {
  readonly name: StoredCategory
  /** One sentence for operators. */
  readonly about: string
  /** Role required to read; writing requires `admin`. */
  readonly readRole: 'read' | 'admin'
  /** Name field of the members of a list, which can be set individually. */
  readonly memberName?: string
  /** Validates a value that would replace the stored one. Throws `FieldError` with the path. */
  check(value: unknown, stored: unknown): void
  /** Validates against other stored data. Rejects like `check`, or if MongoDB is unavailable. */
  verify?(value: unknown, stored: unknown, where: VerifyContext): Promise<void>
  /** A stored value without its secrets, even if it is invalid. Never throws. */
  view?(stored: unknown): unknown
  /**
   * Converts an edited value of `view` to the value to store: missing secrets are kept. Throws like
   * `check`.
   */
  merge?(value: unknown, stored: unknown): unknown
  /**
   * The effective value: the stored one combined with values from elsewhere. Throws like `check`.
   */
  effective?(stored: unknown): unknown
  /** Edit functions for categories that are not edited by path. */
  readonly special?: SpecialChanges
}

export interface VerifyContext {
  readonly catalog: Catalog
  readonly nowMs: number
}

/** The new value, and what is returned in the answer to this call only. */
export interface SpecialChange {
  readonly value: unknown
  readonly response: unknown
}

/** For a category that is a list of created and removed items rather than a replaceable value. */
export interface SpecialChanges {
  /**
   * Both may be called repeatedly and must not modify `stored`. They throw like `Category.check`.
   */
  set(stored: unknown, data: unknown, nowMs: number): SpecialChange
  unset(stored: unknown, data: unknown): SpecialChange
}

/** A setting that cannot be changed while the node runs. */
export interface FixedCategory {
  readonly about: string
  readonly value: unknown
  /** How to change it. */
  readonly instead: string
}

/** All categories by name. */
export interface Categories {
  readonly stored: ReadonlyMap<string, Category>
  readonly fixed: ReadonlyMap<string, FixedCategory>
}
