/** The typed collections: how other rooms reach MongoDB (design.md §4), and their indexes. */
import type { Collection, Db, IndexDescription } from 'mongodb'
import type { BalanceDocument } from './balance-document.ts'
import type { LineDocument } from './documents.ts'
import { type AccountDocument, AccountEntity } from './entities/account.ts'
import type { EntityDefinition } from './entities/entity.ts'
import { type PlanDocument, PlanEntity } from './entities/plan.ts'
import { type PrepaidIncludeDocument, PrepaidIncludeEntity } from './entities/prepaid-include.ts'
import { type RateDocument, RateEntity } from './entities/rate.ts'
import { type ServiceDocument, ServiceEntity } from './entities/service.ts'
import { type SubscriberDocument, SubscriberEntity } from './entities/subscriber.ts'
import { type TaxDocument, TaxEntity } from './entities/tax.ts'

export type {
  AggregationCursor,
  AnyBulkWriteOperation,
  BulkWriteResult,
  Collection,
  Filter,
  FindCursor,
  UpdateFilter,
  WithId,
} from 'mongodb'

/** A number that only grows. `feed:<collection>`: the revision of a collection (revisions.ts). */
export interface CounterDocument {
  _id: string
  seq: number
}

/** `ledger`: the epoch of its data (installation.ts). */
export interface InstallationDocument {
  _id: string
  epoch: string
}

/** One category of the stored configuration; only stored-config.ts writes it. */
export interface ConfigDocument {
  _id: string
  /** Another one with each change. */
  rev: number
  value: unknown
  changed: Date
  /** Who has changed it last: `cli`, or a user. */
  changed_by: string
}

export interface Collections {
  /** Subscribers and accounts, told apart by `type`. */
  readonly subscribers: Collection<SubscriberDocument | AccountDocument>
  readonly plans: Collection<PlanDocument>
  readonly services: Collection<ServiceDocument>
  readonly rates: Collection<RateDocument>
  readonly taxes: Collection<TaxDocument>
  readonly prepaidincludes: Collection<PrepaidIncludeDocument>
  /** Written by the recorder and billing. */
  readonly lines: Collection<LineDocument>
  /** Projection of the live balances; only the recorder writes it. */
  readonly balances: Collection<BalanceDocument>
  readonly counters: Collection<CounterDocument>
  readonly installation: Collection<InstallationDocument>
  readonly config: Collection<ConfigDocument>
  /** Charging plans, and the cards that are loaded by a secret. */
  readonly prepaidgroups: Collection<Record<string, unknown>>
  readonly cards: Collection<Record<string, unknown>>
}

export interface EntityDocuments {
  subscribers: SubscriberDocument | AccountDocument
  plans: PlanDocument
  services: ServiceDocument
  rates: RateDocument
  taxes: TaxDocument
  prepaidincludes: PrepaidIncludeDocument
}

/** The collections whose documents are entities: with revisions, schema and feed. */
export type EntityCollection = keyof EntityDocuments

/** What is stored in each entity collection. Subscribers come before accounts: the usual case. */
export const ENTITIES: Readonly<Record<EntityCollection, readonly EntityDefinition[]>> = {
  subscribers: [SubscriberEntity, AccountEntity],
  plans: [PlanEntity],
  services: [ServiceEntity],
  rates: [RateEntity],
  taxes: [TaxEntity],
  prepaidincludes: [PrepaidIncludeEntity],
}

const RECORD_INDEXES: Readonly<Record<'lines' | 'balances', IndexDescription[]>> = {
  lines: [
    { key: { stamp: 1 }, unique: true },
    { key: { sid: 1, urt: 1 } },
    { key: { aid: 1, billrun: 1 } },
  ],
  balances: [{ key: { aid: 1, sid: 1, bucket_id: 1 }, unique: true }],
}

export function collectionsOf(db: Db): Collections {
  return {
    subscribers: db.collection('subscribers'),
    plans: db.collection('plans'),
    services: db.collection('services'),
    rates: db.collection('rates'),
    taxes: db.collection('taxes'),
    prepaidincludes: db.collection('prepaidincludes'),
    lines: db.collection('lines'),
    balances: db.collection('balances'),
    counters: db.collection('counters'),
    installation: db.collection('installation'),
    config: db.collection('config'),
    prepaidgroups: db.collection('prepaidgroups'),
    cards: db.collection('cards'),
  }
}

/**
 * Creates the missing indexes of every collection, each collection within the time of one
 * operation. `identifiers`: further fields that subscribers are found by.
 */
export async function ensureIndexes(
  collections: Collections,
  identifiers: readonly string[],
  run: <T>(what: string, operation: () => Promise<T>) => Promise<T>,
): Promise<void> {
  const create = (name: keyof Collections, indexes: readonly IndexDescription[]) =>
    run(`create indexes of ${name}`, () =>
      (collections[name] as unknown as Collection).createIndexes([...indexes]),
    )
  for (const [name, definitions] of Object.entries(ENTITIES)) {
    const indexes = definitions.flatMap((definition) => definition.indexes)
    await create(name as EntityCollection, indexes)
  }
  if (identifiers.length > 0) {
    await create(
      'subscribers',
      identifiers.map((field) => ({ key: { [field]: 1 } })),
    )
  }
  await create('lines', RECORD_INDEXES.lines)
  await create('balances', RECORD_INDEXES.balances)
}
