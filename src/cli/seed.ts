/** `tollgate seed demo`: the demo catalogue, initial credits and stored settings. */
import type { RawDocument } from '../catalog/compile/document.ts'
import { compilePrepaidInclude } from '../catalog/compile/prepaid-include.ts'
import type { Catalog } from '../catalog/connection.ts'
import {
  finishDemoSeed,
  type InitialCredit,
  seedDemoCatalogue,
  seedDemoSettings,
} from '../catalog/demo.ts'
import type { Config } from '../config/schema.ts'
import { type PrepaidInclude, revisionAt } from '../domain/catalogue.ts'
import { FOREVER_MS } from '../domain/time.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { creditBucket } from '../ledger/operations.ts'
import type { Clock } from '../runtime/clock.ts'
import { CommandError } from './errors.ts'
import { operator } from './operator.ts'
import type { Shell } from './shell.ts'
import { type Stores, withStores } from './stores.ts'

/** Demo events may lie in the past. */
const CREDIT_FROM_MS = Date.UTC(2020, 0, 1)

export async function seedDemo(shell: Shell): Promise<0> {
  const config = shell.config()
  const created = await withStores(config, (stores) => seedStores(stores, config, stores.clock))
  shell.print(
    created === 0 ? 'nothing to do: the store has entities' : `created ${created} entities`,
  )
  return 0
}

/** Seeds the stores if they are empty; returns the number of entities created. Idempotent. */
export async function seedStores(
  { catalog, ledger }: Pick<Stores, 'catalog' | 'ledger'>,
  config: Config,
  clock: Clock,
): Promise<number> {
  await catalog.ensureIndexes()
  const by = { actor: operator(), nowMs: clock.nowMs() }
  const seed = await seedDemoCatalogue(catalog, by)
  for (const credit of seed.credits)
    await grantInitialCredit(catalog, ledger, credit, config, clock)
  if (seed.credits.length > 0) {
    await seedDemoSettings(catalog, by)
    await finishDemoSeed(catalog)
  }
  return seed.created.length
}

async function grantInitialCredit(
  catalog: Catalog,
  ledger: Ledger,
  { aid, sid, prepaidIncludeId, amount, operationId }: InitialCredit,
  config: Config,
  clock: Clock,
): Promise<void> {
  const nowMs = clock.nowMs()
  const include = await findInclude(catalog, prepaidIncludeId, nowMs)
  const validity = { fromMs: CREDIT_FROM_MS, toMs: FOREVER_MS }
  const operation = { include, amount, ...validity, mode: 'inc', operationId, aid, sid } as const
  const settings = { attemptsMax: config.ledger.commitAttemptsMax }
  await creditBucket(ledger, operation, settings, nowMs)
}

/** The current revision of a prepaid include. Throws `CommandError` if no revision is valid now. */
export async function findInclude(
  catalog: Catalog,
  externalId: number,
  nowMs: number,
): Promise<PrepaidInclude> {
  const documents = await catalog.prepaidincludes
    .find({ external_id: externalId, deleted: { $ne: true } })
    .toArray()
  const revisions = documents.map((document) => compilePrepaidInclude(document as RawDocument))
  const include = revisionAt(revisions, nowMs)
  if (include === null) throw new CommandError(`there is no prepaid include ${externalId} now`)
  return include
}
