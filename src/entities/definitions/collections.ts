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

/** In addition to `create`. */
const IMPORT_CHANGES: Readonly<Record<string, readonly ActionName[]>> = {
  rates: ['permanentchange'],
}

/** Operations that an import may apply to each row; the first one is the default. */
export const IMPORT_OPERATIONS: ReadonlyMap<string, readonly ActionName[]> = new Map(
  ALL.filter(({ actions }) => actions.import !== undefined).map(({ name }) => [
    name,
    ['create', ...(IMPORT_CHANGES[name] ?? [])],
  ]),
)

interface DottedNames {
  readonly part: 'query' | 'update'
  readonly actions: readonly ActionName[]
  readonly pattern: RegExp
}

/** Sets the prices of one rate only. */
const RATE_KEY: DottedNames = {
  part: 'update',
  actions: ['update', 'closeandnew', 'permanentchange'],
  pattern: /^rates\.[A-Z0-9_]+$/,
}
/** Finds rates with prices for a usage type. */
const USAGE_TYPE: DottedNames = {
  part: 'query',
  actions: ['uniqueget'],
  pattern: /^rates\.[A-Za-z0-9_-]+$/,
}

const DOTTED_NAMES: Readonly<Record<string, DottedNames>> = {
  plans: RATE_KEY,
  services: RATE_KEY,
  rates: USAGE_TYPE,
}

/** Pattern of field names that are not declared individually; null if all names are declared. */
export function dottedNamePattern(
  collection: string,
  action: ActionName,
  part: 'query' | 'update',
): RegExp | null {
  const names = DOTTED_NAMES[collection]
  return names?.part === part && names.actions.includes(action) ? names.pattern : null
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
