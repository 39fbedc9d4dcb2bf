import { CollectionCatalog } from './catalog.ts'
import { RecordNumbers } from './record-numbers.ts'
import { Records } from './records.ts'
import { Schema } from './schema.ts'
import { Storage } from './storage.ts'

/** The parts of the store, outside of any transaction. */
export type Store = {
  readonly storage: Storage
  readonly catalog: CollectionCatalog
  readonly records: Records
  readonly schema: Schema
}

/** @throws StorageFormatError */
export async function openStore(dataDir: string): Promise<Store> {
  const storage = new Storage(dataDir, () => catalog.reload())
  const catalog = new CollectionCatalog(storage)
  try {
    await catalog.open()
  } catch (error) {
    await storage.close()
    throw error
  }
  const records = new Records(storage, catalog, new RecordNumbers(storage))
  return { storage, catalog, records, schema: new Schema(storage, catalog, records) }
}
