/**
 * Configured fields of a collection (spec/entity-api.md 3.0): what an operator adds to accounts,
 * subscribers, plans and so on, and what is said of the fields that are there from the start.
 */

export const FIELD_TYPES = [
  'text',
  'textarea',
  'integer',
  'decimal',
  'boolean',
  'date',
  'datetime',
  'daterange',
  'select',
  'email',
  'percentage',
  'json',
] as const

export interface FieldDefinition {
  /** May be dotted: `params.class`. */
  readonly field_name: string
  readonly title?: string
  readonly description?: string
  /** Absent: stored as it is sent. */
  readonly type?: string
  /** Absent or empty on create is refused. */
  readonly mandatory?: boolean
  /** No other entity may have the value at the same time. */
  readonly unique?: boolean
  /** False: only create sets it. */
  readonly editable?: boolean
  /** A list of values; `push_fields` and `pull_fields` may change it. */
  readonly multiple?: boolean
  /** May be queried by. */
  readonly searchable?: boolean
  readonly default_value?: unknown
  /** A list, or a text with commas. */
  readonly select_options?: string | readonly string[]
  /** A regular expression that the whole text matches. */
  readonly validation?: string
  /** Personal data: an erasure removes the value (admin/privacy). */
  readonly personal?: boolean
  /** Made by the node. */
  readonly generated?: boolean
  readonly system?: boolean
  readonly exportable?: boolean
  readonly display?: boolean
  readonly show_in_list?: boolean
  readonly plays?: readonly string[]
}
