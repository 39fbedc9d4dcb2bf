/**
 * Configured fields of a collection: fields that operators add to accounts, subscribers, plans and
 * so on, and settings of the built-in ones.
 */
import type { ConfiguredField } from '../../catalog/entities/api.ts'

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

export interface FieldDefinition extends ConfiguredField {
  /** May be dotted: `params.class`. */
  readonly field_name: string
  /** Built in. */
  readonly system?: boolean
}
