/** Dates that responses to reads contain as texts, in addition to those of revisions. */
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'

/** Dotted paths. */
export function textDatesOf(
  { textDates }: Pick<CollectionDefinition, 'textDates'>,
  fields: readonly FieldDefinition[],
): readonly string[] {
  const custom = fields.filter(({ type }) => type === 'date' || type === 'daterange')
  return [
    ...textDates,

    ...custom.map(({ field_name: field }) => field),
  ]
}
