/** Dates that responses to reads contain as texts, in addition to those of revisions. */
import type { CollectionDefinition } from '../definitions/definition.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'

const TEXT_DATES: Readonly<Record<string, readonly string[]>> = {
  accounts: ['payment_gateway.active.generate_token_time', 'in_collection_from'],
  autorenew: ['next_renew', 'last_renew'],
  audit: ['urt'],
  jobs: ['created', 'changed', 'ended', 'due'],
}

/** Dotted paths. */
export function textDatesOf(
  { name, textDates }: Pick<CollectionDefinition, 'name' | 'textDates'>,
  fields: readonly FieldDefinition[],
): readonly string[] {
  const custom = fields.filter(({ type }) => type === 'date' || type === 'daterange')
  return [
    ...textDates,
    ...(TEXT_DATES[name] ?? []),
    ...custom.map(({ field_name: field }) => field),
  ]
}
