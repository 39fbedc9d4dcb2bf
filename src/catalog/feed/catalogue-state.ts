/** The catalogue of one thread: a table per collection, published together as a snapshot. */
import type {
  Catalogue,
  PlanRevision,
  PrepaidInclude,
  RateRevision,
  Revision,
  ServiceRevision,
  TaxRevision,
} from '../../domain/catalogue.ts'
import type { Logger } from '../../runtime/log.ts'
import type { RawDocument } from '../compile/document.ts'
import { compilePlan, compileService } from '../compile/offer.ts'
import { compilePrepaidInclude } from '../compile/prepaid-include.ts'
import { compileRate } from '../compile/rate.ts'
import { compileTax } from '../compile/tax.ts'
import type { Catalog } from '../connection.ts'
import type { ChargingCollection } from '../entities/entity-table.ts'
import { createCursor, readAll, readChanges } from './follow.ts'
import { ShardedMap } from './sharded-map.ts'
import {
  type ChangedKey,
  createRevisionTable,
  type RevisionTable,
  type SkippedDocument,
} from './snapshot.ts'

type CatalogueCollection = Exclude<ChargingCollection, 'subscribers'>

/** The current revisions of a rate key; empty if the rate is gone. */
export type ChangedRate = ChangedKey<string, RateRevision>

export interface CatalogueState {
  /**
   * Reads the changes up to these revision numbers and publishes them. Rejects if it cannot read.
   */
  follow(numbers: Readonly<Record<CatalogueCollection, number>>): Promise<void>
  loaded(): boolean
  current(): Catalogue
  skipped(): readonly SkippedDocument[]
}

export interface CatalogueStateOptions {
  catalog: Catalog
  log: Logger
  /**
   * Called with the rates that a new snapshot changes, in slices, before the snapshot becomes
   * current. Other work of the thread runs between two slices.
   */
  onRates?: (changed: readonly ChangedRate[]) => void
}

const EMPTY: Catalogue = Object.freeze({
  revision: 0,
  rates: new Map(),
  plans: new Map(),
  services: new Map(),
  taxes: new Map(),
  prepaidIncludes: new Map(),
})

const keyOf = (document: RawDocument) => String(document['key'])
const nameOf = (document: RawDocument) => String(document['name'])

export function createCatalogueState(options: CatalogueStateOptions): CatalogueState {
  const { onRates } = options
  const rates = followTable<string, RateRevision>(options, {
    collection: 'rates',
    keyOf: ({ key }) => key,
    nameOf: keyOf,
    compile: (document) => compileRate(document),
    ...(onRates && { onChange: onRates }),
  })
  const plans = followTable<string, PlanRevision>(options, {
    collection: 'plans',
    keyOf: ({ name }) => name,
    nameOf,
    compile: (document) => compilePlan(document),
  })
  const services = followTable<string, ServiceRevision>(options, {
    collection: 'services',
    keyOf: ({ name }) => name,
    nameOf,
    compile: (document) => compileService(document),
  })
  const taxes = followTable<string, TaxRevision>(options, {
    collection: 'taxes',
    keyOf: ({ key }) => key,
    nameOf: keyOf,
    compile: compileTax,
  })
  const prepaidIncludes = followTable<number, PrepaidInclude>(options, {
    collection: 'prepaidincludes',
    keyOf: ({ externalId }) => externalId,
    nameOf,
    compile: compilePrepaidInclude,
  })
  // Rates are read last: until they are loaded, nothing can be charged.
  const tables = [plans, services, taxes, prepaidIncludes, rates]
  let snapshot = EMPTY
  return {
    async follow(numbers) {
      for (const table of tables) await table.follow(numbers)
      if (snapshot !== EMPTY && !tables.some((table) => table.hasUnpublished())) return
      for (const table of tables) await table.publish()
      snapshot = Object.freeze({
        revision: snapshot.revision + 1,
        rates: rates.byKey(),
        plans: plans.byKey(),
        services: services.byKey(),
        taxes: taxes.byKey(),
        prepaidIncludes: prepaidIncludes.byKey(),
      })
    },
    loaded: () => snapshot !== EMPTY,
    current: () => snapshot,
    skipped: () => tables.flatMap((table) => table.skipped()),
  }
}

interface TableSpec<K, T> {
  collection: CatalogueCollection
  compile: (document: RawDocument) => T
  keyOf: (revision: T) => K
  nameOf: (document: RawDocument) => string
  onChange?: (changed: readonly ChangedKey<K, T>[]) => void
}

interface FollowedTable<K extends string | number, T extends Revision> {
  /** Reads up to the revision number of its collection. */
  follow(numbers: Readonly<Record<CatalogueCollection, number>>): Promise<void>
  /** Whether changes were read that are not published yet. */
  hasUnpublished(): boolean
  publish(): Promise<void>
  byKey(): ReadonlyMap<K, readonly T[]>
  skipped(): readonly SkippedDocument[]
}

function followTable<K extends string | number, T extends Revision>(
  { catalog, log }: CatalogueStateOptions,
  spec: TableSpec<K, T>,
): FollowedTable<K, T> {
  const onSkip = (skipped: SkippedDocument) =>
    log.error(skipped, 'entity left out: it does not compile')
  const cursor = createCursor()
  let table: RevisionTable<K, T> = createRevisionTable({ ...spec, onSkip })
  let published = new ShardedMap<K, readonly T[]>()
  let isNew = false

  const reload = async (): Promise<void> => {
    const loading = createRevisionTable<K, T>({ ...spec, onSkip }, published)
    for await (const page of readAll(catalog, spec.collection)) await loading.apply(page)
    table = loading
    isNew = true
  }
  const readNew = async (number: number): Promise<void> => {
    const processed = cursor.processed()
    for await (const page of readChanges(catalog, spec.collection, processed, number)) {
      if (await table.apply(page)) isNew = true
    }
  }

  return {
    async follow(numbers) {
      const number = numbers[spec.collection]
      const step = cursor.step(number)
      if (step === 'reload') await reload()
      if (step === 'changes') await readNew(number)
      if (step !== 'nothing') cursor.advance(number)
    },
    hasUnpublished: () => isNew,
    async publish() {
      if (!isNew) return
      published = await table.publish()
      isNew = false
    },
    byKey: () => published,
    skipped: () => table.skipped(),
  }
}
