/**
 * The head: one document that every transaction reads first and writes last. Its version makes
 * transactions serializable: whatever an operation reads after the head, by the session or without
 * it, is unchanged when it commits, because a transaction that committed in between has raised the
 * version. The head also has the numbers that must become visible in order: those of entity writes,
 * by which feeds notice them, and the end of the audit chain.
 */
import type { Collection, Collections } from '../collections.ts'
import { ENTITIES } from '../entities/entity-table.ts'
import type { HeadDocument, NumberedCollection } from '../records/head-document.ts'
import { CHAIN_START } from './audit-chain.ts'
import { isInserted } from './duplicate.ts'

/** Rejects with `CatalogUnavailableError`. */
export async function readHead(collections: Collections): Promise<HeadDocument> {
  const read = () => collections.transactions.findOne({ _id: 'head' })
  const found = await read()
  if (found !== null) return found
  const first = await firstHead(collections)
  await isInserted(collections.transactions.insertOne(first))
  return (await read()) ?? first
}

/** Numbers are never used twice, even if the head was deleted. */
async function firstHead(collections: Collections): Promise<HeadDocument> {
  const numbers = { outbox: await highest(collections, 'outbox', 'number') } as Record<
    string,
    number
  >
  for (const name of [...Object.keys(ENTITIES), 'config']) {
    numbers[name] = await highest(collections, name as NumberedCollection, 'rev')
  }
  const [newest] = await collections.audit
    .find({ 'chain.seq': { $gt: 0 } }, { projection: { chain: 1 } })
    .sort({ 'chain.seq': -1 })
    .limit(1)
    .toArray()
  const { seq, hash } = newest?.chain ?? CHAIN_START
  return { _id: 'head', version: 0, audit: { seq, hash }, numbers } as HeadDocument
}

async function highest(
  collections: Collections,
  name: NumberedCollection | 'outbox',
  field: string,
): Promise<number> {
  const documents = collections[name] as unknown as Collection
  const [found] = await documents
    .find({ [field]: { $gt: 0 } }, { projection: { _id: 0, [field]: 1 } })
    .sort({ [field]: -1 })
    .limit(1)
    .toArray()
  return Number(found?.[field] ?? 0)
}
