import { type AccountDocument, AccountEntity } from './account.ts'
import { type AutorenewDocument, AutorenewEntity } from './autorenew.ts'
import { type ChargeDocument, ChargeEntity } from './charge.ts'
import { type DiscountDocument, DiscountEntity } from './discount.ts'
import type { EntityDefinition } from './entity.ts'
import { type PlanDocument, PlanEntity } from './plan.ts'
import { type PrepaidGroupDocument, PrepaidGroupEntity } from './prepaid-group.ts'
import { type PrepaidIncludeDocument, PrepaidIncludeEntity } from './prepaid-include.ts'
import { type RateDocument, RateEntity } from './rate.ts'
import { type ReportDocument, ReportEntity } from './report.ts'
import { type ServiceDocument, ServiceEntity } from './service.ts'
import { type SubscriberDocument, SubscriberEntity } from './subscriber.ts'
import { type TaxDocument, TaxEntity } from './tax.ts'
import { type UserDocument, UserEntity } from './user.ts'

export interface EntityDocuments {
  subscribers: SubscriberDocument | AccountDocument
  plans: PlanDocument
  services: ServiceDocument
  rates: RateDocument
  taxes: TaxDocument
  prepaidincludes: PrepaidIncludeDocument
  prepaidgroups: PrepaidGroupDocument
  charges: ChargeDocument
  discounts: DiscountDocument
  reports: ReportDocument
  users: UserDocument
  autorenew: AutorenewDocument
}

/** Collections of entities: documents with revisions and a schema. */
export type EntityCollection = keyof EntityDocuments

/** Entities that charging reads, and feeds follow. */
export const CHARGING_COLLECTIONS = [
  'subscribers',
  'plans',
  'services',
  'rates',
  'taxes',
  'prepaidincludes',
] as const satisfies readonly EntityCollection[]

export type ChargingCollection = (typeof CHARGING_COLLECTIONS)[number]

/** Entity types by collection. Subscribers, the most frequent type, precede accounts. */
export const ENTITIES: Readonly<Record<EntityCollection, readonly EntityDefinition[]>> = {
  subscribers: [SubscriberEntity, AccountEntity],
  plans: [PlanEntity],
  services: [ServiceEntity],
  rates: [RateEntity],
  taxes: [TaxEntity],
  prepaidincludes: [PrepaidIncludeEntity],
  prepaidgroups: [PrepaidGroupEntity],
  charges: [ChargeEntity],
  discounts: [DiscountEntity],
  reports: [ReportEntity],
  users: [UserEntity],
  autorenew: [AutorenewEntity],
}

/** The entity types in a collection of the store; none in one of records. */
export function entitiesIn(store: string): readonly EntityDefinition[] {
  return Object.hasOwn(ENTITIES, store) ? ENTITIES[store as EntityCollection] : []
}
