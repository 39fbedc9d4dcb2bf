/** Prepaid includes. Pure. */
import type { BucketKind } from '../../domain/bucket.ts'
import type { PrepaidInclude } from '../../domain/catalogue.ts'
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
  checkSchema(PrepaidIncludeSchema, document)
  const include = document as RawDocument & PrepaidIncludeDocument
  const kind = KIND_OF_CHARGING[include.charging_by]
  checkUsageType(include.charging_by_usaget, 'charging_by_usaget')
  const more = textsAt(include.additional_charging_usaget, 'additional_charging_usaget')
  for (const [index, usaget] of more.entries()) {
    checkUsageType(usaget, `additional_charging_usaget.${index}`)
  }
  return {
    ...revisionOf(include),
    externalId: include.external_id,
    name: include.name,
    kind,
    usaget: kind === 'totalCost' ? '' : include.charging_by_usaget,
    priority: include.priority,
    shared: include.shared ?? false,
    unlimited: include.unlimited ?? false,
    allowedIn: allowedIn(include.allowed_in),
    moreUsagets: more,
  }
}

function allowedIn(value: unknown): PrepaidInclude['allowedIn'] {
  const plans = entriesAt(value, 'allowed_in')
  if (plans.length === 0) return null
  return new Map(
    plans.map(([plan, rates]) => [plan, new Set(textsAt(rates, `allowed_in.${plan}`))] as const),
  )
}
