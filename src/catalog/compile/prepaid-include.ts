/** Prepaid includes. Pure. */
import type { BucketKind } from '../../domain/bucket.ts'
import type { PrepaidInclude } from '../../domain/catalogue.ts'
import { readAll, readEach } from '../../domain/field-errors.ts'
import { entriesAt, textsAt } from '../../domain/fields.ts'
import { checkSchema } from '../entities/entity.ts'
import { type PrepaidIncludeDocument, PrepaidIncludeSchema } from '../entities/prepaid-include.ts'
import { checkUsageType, type RawDocument, revisionOf } from './document.ts'

const KIND_OF_CHARGING: Readonly<Record<PrepaidIncludeDocument['charging_by'], BucketKind>> = {
  usagev: 'units',
  cost: 'cost',
  total_cost: 'totalCost',
}

/** Throws `FieldError` with the path of the field that cannot be used. */
export function compilePrepaidInclude(document: RawDocument): PrepaidInclude {
  const include = document as RawDocument & PrepaidIncludeDocument
  const { moreUsagets, allowedIn } = readAll({
    schema: () => checkSchema(PrepaidIncludeSchema, document),
    usaget: () => checkUsageType(String(include.charging_by_usaget), 'charging_by_usaget'),
    moreUsagets: () => usageTypesAt(include.additional_charging_usaget),
    allowedIn: () => allowedRatesAt(include.allowed_in),
  })
  const kind = KIND_OF_CHARGING[include.charging_by]
  return {
    ...revisionOf(include),
    externalId: include.external_id,
    name: include.name,
    kind,
    usaget: kind === 'totalCost' ? '' : include.charging_by_usaget,
    priority: include.priority,
    shared: include.shared ?? false,
    unlimited: include.unlimited ?? false,
    allowedIn,
    moreUsagets,
  }
}

function usageTypesAt(value: unknown): readonly string[] {
  const path = 'additional_charging_usaget'
  const usagets = textsAt(value, path)
  readEach(usagets, (usaget, index) => checkUsageType(usaget, `${path}.${index}`))
  return usagets
}

function allowedRatesAt(value: unknown): PrepaidInclude['allowedIn'] {
  const plans = entriesAt(value, 'allowed_in')
  if (plans.length === 0) return null
  return new Map(
    plans.map(([plan, rates]) => [plan, new Set(textsAt(rates, `allowed_in.${plan}`))] as const),
  )
}
