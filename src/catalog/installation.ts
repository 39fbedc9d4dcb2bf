/** What is on record about the ledger, outside of the Redis that may be lost. */
import type { Catalog } from './connection.ts'

const ID = 'ledger'

/** The epoch of the ledger's data, as `EpochRecord` of the ledger's installation wants it. */
export function epochRecordOf(catalog: Pick<Catalog, 'run' | 'installation'>) {
  return {
    async read(): Promise<string | null> {
      const found = await catalog.run('read the epoch of the ledger', () =>
        catalog.installation.findOne({ _id: ID }),
      )
      return found?.epoch ?? null
    },
    async write(epoch: string): Promise<void> {
      await catalog.run('note the epoch of the ledger', () =>
        catalog.installation.updateOne({ _id: ID }, { $set: { epoch } }, { upsert: true }),
      )
    },
  }
}
