/** All collections of the entity API (interface.md 2.1, 4.1; spec/entity-api.md 3.00). */

import { accounts } from './accounts.ts'
import { audit } from './audit.ts'
import { autorenew } from './autorenew.ts'
import { balances } from './balances.ts'
import { bills } from './bills.ts'
import { charges } from './charges.ts'
import type { ActionName, CollectionDefinition, Param } from './definition.ts'
import { discounts } from './discounts.ts'
import { jobs } from './jobs.ts'
import { lines } from './lines.ts'
import { plans } from './plans.ts'
import { prepaidGroups } from './prepaid-groups.ts'
import { prepaidIncludes } from './prepaid-includes.ts'
import { rates } from './rates.ts'
import { reports } from './reports.ts'
import { services } from './services.ts'
import { subscribers } from './subscribers.ts'
import { taxes } from './taxes.ts'
import { users } from './users.ts'

const ALL = [
  accounts,
  subscribers,
  plans,
  services,
  rates,
  balances,
  bills,
  charges,
  discounts,
  prepaidIncludes,
  prepaidGroups,
  taxes,
  reports,
  users,
  lines,
  autorenew,
  audit,
  jobs,
] as const

/**
 * By the name in the path, in the order of interface.md 2.1; the audit and jobs stand behind them.
 */
export const DEFINITIONS: ReadonlyMap<string, CollectionDefinition> = new Map(
  ALL.map((definition) => [definition.name, definition]),
)

/** What an import may do with each row (spec/entity-api.md 2.12); the first one is the default. */
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
 * The form of names that are not declared as they are; null: there are none. `rates.RATE` in
 * changes of plans and services: the prices of one rate, the others stay. `rates.USAGE_TYPE` in a
 * uniqueget of rates: to ask for those that have one.
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

/** A field of such a name; null: it has another form. */
export function dottedParam(
  collection: string,
  action: ActionName,
  part: 'query' | 'update',
  name: string,
): Param | null {
  return dottedNamePattern(collection, action, part)?.test(name) ? { type: 'array' } : null
}
