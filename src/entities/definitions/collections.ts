/** All collections of the entity API. */
import { AccountEntity } from '../../catalog/entities/account.ts'
import { AutorenewEntity } from '../../catalog/entities/autorenew.ts'
import { ChargeEntity } from '../../catalog/entities/charge.ts'
import { DiscountEntity } from '../../catalog/entities/discount.ts'
import { PlanEntity } from '../../catalog/entities/plan.ts'
import { PrepaidGroupEntity } from '../../catalog/entities/prepaid-group.ts'
import { PrepaidIncludeEntity } from '../../catalog/entities/prepaid-include.ts'
import { RateEntity } from '../../catalog/entities/rate.ts'
import { ReportEntity } from '../../catalog/entities/report.ts'
import { ServiceEntity } from '../../catalog/entities/service.ts'
import { SubscriberEntity } from '../../catalog/entities/subscriber.ts'
import { TaxEntity } from '../../catalog/entities/tax.ts'
import { UserEntity } from '../../catalog/entities/user.ts'
import type { Param } from '../../requests/param.ts'
import { audit } from './audit.ts'
import { balances } from './balances.ts'
import { bills } from './bills.ts'
import type { ActionName, CollectionDefinition } from './definition.ts'
import { entityCollection } from './entity-collection.ts'
import { events } from './events.ts'
import { jobs } from './jobs.ts'
import { lines } from './lines.ts'

const ALL: readonly CollectionDefinition[] = [
  entityCollection('subscribers', AccountEntity),
  entityCollection('subscribers', SubscriberEntity),
  entityCollection('plans', PlanEntity),
  entityCollection('services', ServiceEntity),
  entityCollection('rates', RateEntity),
  balances,
  bills,
  entityCollection('charges', ChargeEntity),
  entityCollection('discounts', DiscountEntity),
  entityCollection('prepaidincludes', PrepaidIncludeEntity),
  entityCollection('prepaidgroups', PrepaidGroupEntity),
  entityCollection('taxes', TaxEntity),
  entityCollection('reports', ReportEntity),
  entityCollection('users', UserEntity),
  lines,
  entityCollection('autorenew', AutorenewEntity),
  audit,
  jobs,
  events,
]

/** By name in the URL path, in the order of the interface; those of Tollgate come last. */
export const DEFINITIONS: ReadonlyMap<string, CollectionDefinition> = new Map(
  ALL.map((definition) => [definition.name, definition]),
)

/** Operations that an import may apply to each row; the first one is the default. */
export const IMPORT_OPERATIONS: ReadonlyMap<string, readonly ActionName[]> = new Map(
  ALL.filter(({ actions }) => actions.import !== undefined).map(({ name }) => [
    name,
    name === 'rates' ? (['create', 'permanentchange'] as const) : (['create'] as const),
  ]),
)

const RATE_KEY = /^rates\.[A-Z0-9_]+$/
const USAGE_TYPE = /^rates\.[A-Za-z0-9_-]+$/
const CHANGES: readonly ActionName[] = ['update', 'closeandnew', 'permanentchange']

/**
 * Pattern of field names that are not declared individually; null if the action has no such names.
 * `rates.RATE` in changes of plans and services sets the prices of one rate only.
 * `rates.USAGE_TYPE` in `uniqueget` of rates finds those with prices for that usage type.
 */
export function dottedNamePattern(
  collection: string,
  action: ActionName,
  part: 'query' | 'update',
): RegExp | null {
  const isOffer = collection === 'plans' || collection === 'services'
  if (isOffer && part === 'update' && CHANGES.includes(action)) return RATE_KEY
  const isSearch = collection === 'rates' && action === 'uniqueget' && part === 'query'
  return isSearch ? USAGE_TYPE : null
}

/** The parameter of such a name; null if the name does not match. */
export function dottedParam(
  collection: string,
  action: ActionName,
  part: 'query' | 'update',
  name: string,
): Param | null {
  return dottedNamePattern(collection, action, part)?.test(name) ? { type: 'array' } : null
}
