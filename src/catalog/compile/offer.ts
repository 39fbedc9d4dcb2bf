/** Plans and services. Pure; throws `FieldError` with the path. */
import type { Offer, PlanRevision, ServiceRevision } from '../../domain/catalogue.ts'
import { entriesAt, isEmpty, objectAt, textsAt } from '../../domain/fields.ts'
import { checkSchema } from '../entities/entity.ts'
import { type PlanDocument, PlanSchema } from '../entities/plan.ts'
import { type ServiceDocument, ServiceSchema } from '../entities/service.ts'
import { type CompileOptions, factsOf, LENIENT, type RawDocument, revisionOf } from './document.ts'
import { compileGroups } from './groups.ts'
import { serviceTermsAt } from './period.ts'
import { compilePrices } from './price.ts'
import { checkRecurring } from './recurring.ts'
import { roundingAt } from './rounding.ts'

export function compilePlan(document: RawDocument, options = LENIENT): PlanRevision {
  checkSchema(PlanSchema, document)
  const plan = document as RawDocument & PlanDocument
  const included = isEmpty(plan.include) ? undefined : objectAt(plan.include, 'include')['services']
  return {
    ...revisionOf(plan),
    name: plan.name,
    connectionType: plan.connection_type,
    disallowedRates: new Set(plan.disallowed_rates ?? []),
    services: textsAt(included, 'include.services'),
    ...offerOf(document, options),
    facts: factsOf(document),
  }
}

export function compileService(document: RawDocument, options = LENIENT): ServiceRevision {
  checkSchema(ServiceSchema, document)
  const service = document as RawDocument & ServiceDocument
  return {
    ...revisionOf(service),
    name: service.name,
    ...serviceTermsAt(document),
    ...offerOf(document, options),
    facts: factsOf(document),
  }
}

function offerOf(document: RawDocument, options: CompileOptions): Offer {
  // These rules round the price of the plan itself, not usage; they are only validated here.
  roundingAt(document['rounding_rules'], 'rounding_rules')
  if (options.isStrict) checkRecurring(document)
  return {
    prices: compilePrices(document['rates'], 'rates', options),
    groups: groupsOf(document['include'], 'include', options),
  }
}

export function groupsOf(include: unknown, path: string, options: CompileOptions) {
  const groups = entriesAt(include, path).find(([name]) => name === 'groups')?.[1]
  return compileGroups(groups, `${path}.groups`, options)
}
