/** Data about the ledger that must survive a loss of Redis. */
import type { Catalog } from './connection.ts'

const ID = 'ledger'

/** Stores the epoch of the ledger's data; implements the ledger's `EpochRecord`. */
export function epochRecordOf(catalog: Pick<Catalog, 'installation'>) {
  return {
    async read(): Promise<string | null> {
      const found = await catalog.installation.findOne({ _id: ID })
      return found?.epoch ?? null
    },
    async write(epoch: string): Promise<void> {
      await catalog.installation.updateOne({ _id: ID }, { $set: { epoch } }, { upsert: true })
    },
  }
}
