/** The memory of the simulated gateway, in MongoDB: shared by all processes. */
import type { Catalog } from '../../catalog/connection.ts'
import type { SandboxDocument } from '../../catalog/records/money/payment-documents.ts'
import { isInserted } from '../../catalog/transactions/duplicate.ts'
import type { SandboxRecord, SandboxStore } from '../../external/payment/sandbox/sandbox.ts'

export function createSandboxStore(catalog: Pick<Catalog, 'sandbox'>): SandboxStore {
  const find = async (id: string): Promise<SandboxRecord | null> => {
    const found = await catalog.sandbox.findOne({ _id: id })
    return found === null ? null : recordOf(found)
  }
  return {
    find,
    async add(id, record) {
      const isNew = await isInserted(catalog.sandbox.insertOne(documentOf(id, record)))
      return isNew ? record : ((await find(id)) ?? record)
    },
    async replace(id, state, record) {
      const { matchedCount } = await catalog.sandbox.replaceOne(
        { _id: id, state },
        documentOf(id, record),
      )
      return matchedCount === 1
    },
  }
}

function documentOf(id: string, { kind, state, madeMs, fields }: SandboxRecord): SandboxDocument {
  return { _id: id, kind, state, made: new Date(madeMs), fields: { ...fields } }
}

function recordOf({ kind, state, made, fields }: SandboxDocument): SandboxRecord {
  return { kind, state, madeMs: made.getTime(), fields }
}
