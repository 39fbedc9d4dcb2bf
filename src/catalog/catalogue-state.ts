/** The catalogue of one thread: tables of the three collections, published as one snapshot. */
import type {
  Catalogue,
  PlanRevision,
  PrepaidInclude,
  RateRevision,
  Revision,
} from '../domain/catalogue.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { compilePlan, compilePrepaidInclude, compileRate, type RawDocument } from './compile.ts'
import type { Catalog } from './connection.ts'
import { createCursor, readAll, readChanges } from './follow.ts'
import { createRevisionTable, type RevisionTable, type SkippedDocument } from './snapshot.ts'

type CatalogueCollection = 'rates' | 'plans' | 'prepaidincludes'

export interface CatalogueState {
  /** Reads what changed up to these revision numbers and publishes it. Rejects if it cannot. */
  follow(numbers: Readonly<Record<CatalogueCollection, number>>): Promise<void>
  loaded(): boolean
  current(): Catalogue
  skipped(): readonly SkippedDocument[]
}

interface Dependencies {
  catalog: Catalog
  log: Logger
  clock: Clock
}

const EMPTY: Catalogue = Object.freeze({
  revision: 0,
  rates: new Map(),
  plans: new Map(),
  prepaidIncludes: new Map(),
})

export function createCatalogueState(dependencies: Dependencies): CatalogueState {
  const rates = followTable<string, RateRevision>(dependencies, {
    collection: 'rates',
    compile: compileRate,
    keyOf: (rate) => rate.key,
    nameOf: (document) => String(document['key']),
  })
  const plans = followTable<string, PlanRevision>(dependencies, {
    collection: 'plans',
    compile: compilePlan,
    keyOf: (plan) => plan.name,
    nameOf: (document) => String(document['name']),
  })
  const prepaidIncludes = followTable<number, PrepaidInclude>(dependencies, {
    collection: 'prepaidincludes',
    compile: compilePrepaidInclude,
    keyOf: (include) => include.externalId,
    nameOf: (document) => String(document['name']),
  })
  let snapshot = EMPTY
  return {
    async follow(numbers) {
      const isRatesNew = await rates.follow(numbers.rates)
      const isPlansNew = await plans.follow(numbers.plans)
      const isIncludesNew = await prepaidIncludes.follow(numbers.prepaidincludes)
      if (snapshot !== EMPTY && !isRatesNew && !isPlansNew && !isIncludesNew) return
      snapshot = Object.freeze({
        revision: snapshot.revision + 1,
        rates: rates.byKey(),
        plans: plans.byKey(),
        prepaidIncludes: prepaidIncludes.byKey(),
      })
    },
    loaded: () => snapshot !== EMPTY,
    current: () => snapshot,
    skipped: () => [...rates.skipped(), ...plans.skipped(), ...prepaidIncludes.skipped()],
  }
}

interface TableSpec<K, T> {
  collection: CatalogueCollection
  compile: (document: RawDocument) => T
  keyOf: (revision: T) => K
  nameOf: (document: RawDocument) => string
}

interface FollowedTable<K extends string | number, T extends Revision> {
  /** Reads up to this revision number; true if something changed. */
  follow(number: number): Promise<boolean>
  byKey(): ReadonlyMap<K, readonly T[]>
  skipped(): readonly SkippedDocument[]
}

function followTable<K extends string | number, T extends Revision>(
  { catalog, log, clock }: Dependencies,
  spec: TableSpec<K, T>,
): FollowedTable<K, T> {
  const onSkip = (skipped: SkippedDocument) => log.error(skipped, 'entity left out: cannot be used')
  const cursor = createCursor(clock)
  let table: RevisionTable<K, T> = createRevisionTable({ ...spec, onSkip })
  let isNew = false

  const reload = async (): Promise<void> => {
    const loading = createRevisionTable<K, T>({ ...spec, onSkip })
    for await (const page of readAll(catalog, spec.collection)) loading.apply(page)
    table = loading
    isNew = true
  }
  const readNew = async (): Promise<void> => {
    for await (const page of readChanges(catalog, spec.collection, cursor.readAbove())) {
      if (table.apply(page)) isNew = true
    }
  }

  return {
    async follow(number) {
      const step = cursor.step(number)
      if (step === 'reload') await reload()
      if (step === 'changes') await readNew()
      if (step !== 'nothing') cursor.done(number)
      return isNew
    },
    byKey() {
      isNew = false
      return table.byKey()
    },
    skipped: () => table.skipped(),
  }
}
