/** Documents of the stored configuration: the current categories and their previous versions. */
import type { IndexDescription } from 'mongodb'
import type { Actor } from '../actor.ts'

/** One category of the stored configuration; written only by stored-config.ts. */
export interface ConfigDocument {
  _id: string
  /** Unique per change. */
  rev: number
  value: unknown
  changed: Date
  /** Author of the last change: `cli`, or a user. */
  changed_by: string
  /** The complete actor, if recorded. */
  actor?: Actor
}

/** A previous version of a category's document. */
export interface ConfigVersionDocument {
  /** Category and revision, separated by a space. */
  _id: string
  category: string
  rev: number
  /** Categories with secrets are stored without them. */
  value: unknown
  changed: Date
  changed_by: string
  /** Null if only `changed_by` is recorded. */
  actor: Actor | null
}

export const CONFIG_HISTORY_INDEXES: readonly IndexDescription[] = [
  { key: { category: 1, rev: 1 }, unique: true },
]
