/** Writes single revisions of entities, as the product does. */
import type { RawDocument } from '../../../src/catalog/compile/document.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { EntityCollection } from '../../../src/catalog/entities/entity-table.ts'
import { checkedEntity } from '../../../src/catalog/revisions/check.ts'
import {
  changeEntities,
  FENCE_KIND,
  type ProfileOwner,
} from '../../../src/catalog/revisions/entity-changes.ts'
import type { Ledger } from '../../../src/ledger/ledger.ts'
import { systemClock } from '../../../src/runtime/clock.ts'
import { createLogger } from '../../../src/runtime/log.ts'

export interface WriteOptions {
  mode: 'insert' | 'replace'
  timeZone: string
  /** The ledger with the fence of the profile; required if charging may be running. */
  fence?: Ledger
}

/** Returns the stored document. */
export async function writeEntity(
  catalog: Catalog,
  collection: EntityCollection,
  document: Readonly<Record<string, unknown>>,
  { mode, timeZone, fence }: WriteOptions,
): Promise<RawDocument> {
  if (fence !== undefined) registerFence(catalog, fence)
  const stores = { catalog, clock: systemClock }
  const { stored } = await changeEntities(stores, `write into ${collection}`, async () => {
    const checked = await checkedEntity(catalog, collection, document, { mode, timeZone })
    const steps = [{ mode, document: checked }]
    return { collection, steps, isNew: fence === undefined, result: null }
  })
  return [...stored.values()][0] as RawDocument
}

function registerFence(catalog: Catalog, ledger: Ledger): void {
  const log = createLogger({ name: 'test', level: 'silent' })
  const raise = async ({ aid, sid }: ProfileOwner) => {
    await ledger.raiseFence(aid, sid, false, systemClock.nowMs())
  }
  catalog.dispatcher.register({ [FENCE_KIND]: raise }, log)
}
