/** The precision in which a case counts units. */
import { decimalOf, type Fields } from '../../domain/fields.ts'
import { type QuoteCase, UNIT_DIGITS_MAX } from './case.ts'

/** Keys of a group that are not amounts of units. */
const NO_UNITS = new Set(['cost', 'usage_types', 'rates'])

/**
 * Number of decimals that the units of a case need: of its volumes, its unit buckets and the
 * included units of its plans and services. A case in whole units thus grants whole units, whatever
 * its tiers.
 */
export function unitDigitsOf({ catalogue, account, subscribers, events }: QuoteCase): number {
  const unitIncludes = new Set(
    catalogue.prepaidincludes
      .filter((include) => include['charging_by'] === 'usagev')
      .map((include) => include['external_id']),
  )
  const buckets = subscribers.flatMap((subscriber) => subscriber.buckets)
  const holders = [account, ...subscribers.map(({ document }) => document)]
  const overrides = holders.flatMap((holder) => membersOf(holder?.['overrides']))
  const offers = [
    ...catalogue.plans,
    ...catalogue.services,
    ...overrides.map((override) => objectOf(objectOf(override)['value'])),
  ]
  const digits = [
    ...events.map(({ usagev }) => usagev.scale),
    ...buckets.filter(({ includeId }) => unitIncludes.has(includeId)).map((it) => it.value.scale),
    ...offers.flatMap((offer) => groupsOf(offer).flatMap(digitsOfGroup)),
  ]
  return Math.min(
    UNIT_DIGITS_MAX,
    digits.reduce((most, each) => Math.max(most, each), 0),
  )
}

function groupsOf(offer: Fields): unknown[] {
  return membersOf(objectOf(offer['include'])['groups'])
}

function digitsOfGroup(group: unknown): number[] {
  const amounts = Object.entries(objectOf(group)).filter(([name]) => !NO_UNITS.has(name))
  return amounts.map(([, value]) => {
    return decimalOf(value)?.scale ?? 0
  })
}

/** The compilation checks the type. */
function objectOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {}
}

function membersOf(value: unknown): unknown[] {
  return Object.values(objectOf(value))
}
