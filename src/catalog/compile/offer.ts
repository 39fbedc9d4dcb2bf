/** Plans and services. Pure; throws `FieldError` with the path. */
import type { Offer, PlanRevision, ServiceRevision } from '../../domain/catalogue.ts'
import { readAll } from '../../domain/field-errors.ts'
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
  const plan = document as RawDocument & PlanDocument
  const { services, offer } = readAll({
    schema: () => checkSchema(PlanSchema, document),
    services: () => includedServices(plan.include),
    offer: () => offerOf(document, options),
  })
  return {
    ...revisionOf(plan),
    name: plan.name,
    connectionType: plan.connection_type,
    disallowedRates: new Set(plan.disallowed_rates ?? []),
    services,
    ...offer,
    facts: factsOf(document),
  }
}

function includedServices(include: unknown): readonly string[] {
  const included = isEmpty(include) ? undefined : objectAt(include, 'include')['services']
  return textsAt(included, 'include.services')
}

export function compileService(document: RawDocument, options = LENIENT): ServiceRevision {
  const service = document as RawDocument & ServiceDocument
  const { terms, offer } = readAll({
    schema: () => checkSchema(ServiceSchema, document),
    terms: () => serviceTermsAt(document),
    offer: () => offerOf(document, options),
  })
  return {
    ...revisionOf(service),
    name: service.name,
    ...terms,
    ...offer,
    facts: factsOf(document),
  }
}

function offerOf(document: RawDocument, options: CompileOptions): Offer {
  const { prices, groups } = readAll({
    // These rules round the price of the plan itself, not usage; they are only validated here.
    rounding: () => roundingAt(document['rounding_rules'], 'rounding_rules'),
    recurring: () => options.isStrict && checkRecurring(document),
    prices: () => compilePrices(document['rates'], 'rates', options),
    groups: () => groupsOf(document['include'], 'include', options),
  })
  return { prices, groups }
}

export function groupsOf(include: unknown, path: string, options: CompileOptions) {
  const groups = entriesAt(include, path).find(([name]) => name === 'groups')?.[1]
  return compileGroups(groups, `${path}.groups`, options)
}
