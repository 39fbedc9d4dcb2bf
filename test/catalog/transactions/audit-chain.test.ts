/**
 * Audit records are chained by hash across processes; changes made directly in MongoDB are
 * detected.
 */
import { beforeAll, beforeEach, expect, it } from 'vitest'
import { appendRecords } from '../../../src/catalog/audit/append.ts'
import { auditDocument, createAudit } from '../../../src/catalog/audit/audit.ts'
import { storeRemovedRuns } from '../../../src/catalog/audit/removed-runs.ts'
import { verifyChain } from '../../../src/catalog/audit/verify.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { AuditDocument } from '../../../src/catalog/records/audit-document.ts'
import { type ChainedRecord, eraseFields } from '../../../src/catalog/transactions/audit-chain.ts'
import { useMade, useOpened } from '../../support/opened.ts'
import { startTestStores } from '../../support/recorder/accounts.ts'

const ACTOR = { by: 'token', id: 'c1', name: 'crm', address: '192.0.2.1' } as const
const open = useOpened(startTestStores)
const catalog = useMade(() => open().catalog)
beforeAll(async () => {
  await catalog().ensureIndexes()
})
beforeEach(async () => {
  await catalog().audit.deleteMany({})
  await catalog().auditchain.deleteMany({})
  await catalog().transactions.deleteMany({})
})

const VALUES = {
  text: 'Ada',
  number: 5,
  fraction: 0.1,
  large: 2 ** 40,
  negative: -0,
  nothing: null,
  left: undefined,
  date: new Date(5),
  id: new ObjectId('6b031d40e6a8c3bcde6c6a07'),
  list: [1, 'two', { three: new Date(3) }],
  nested: { b: 1, a: { c: [] } },
  empty: {},
}

function record(key: string, fields: object = VALUES): AuditDocument {
  const entry = { collection: 'subscribers', type: 'update', key, old: null, new: fields }
  return auditDocument(ACTOR, 1000, entry, key)
}

const verify = (key = '') => verifyChain(catalog(), { key })
const problems = async () => (await verify()).problems
const chain = async () =>
  (await catalog().audit.find().sort({ 'chain.seq': 1 }).toArray()) as ChainedRecord[]

it('each audit record contains the hash of the previous one, for all kinds of values', async () => {
  for (const key of ['1', '2', '3']) await appendRecords(catalog(), [record(key)])
  const found = await chain()
  expect(found.map((one) => one.chain.seq)).toEqual([1, 2, 3])
  expect(found[0]?.chain.prev).toBe('0'.repeat(64))
  expect(found[2]?.chain.prev).toBe(found[1]?.chain.hash)
  expect(await verify()).toMatchObject({ ok: true, records: 3, removed: 0, erased: 0 })
})

it('audit records of concurrent processes form one chain without forks or gaps', async () => {
  const processes = Array.from({ length: 5 }, () => ({ ...open().catalog }))
  const writes = Array.from({ length: 60 }, (_, index) =>
    createAudit(processes[index % 5] as Catalog).record(ACTOR, index, {
      collection: 'plans',
      type: 'update',
      key: String(index),
      new: { index },
    }),
  )
  await Promise.all(writes)
  expect(await verify()).toMatchObject({ ok: true, records: 60, end: { seq: 60 } })
})

it('an audit record written twice with the same stamp has one position in the chain', async () => {
  await appendRecords(catalog(), [record('1'), record('1'), record('2')])
  await appendRecords({ ...open().catalog }, [record('2'), record('3')])
  expect(await verify()).toMatchObject({ ok: true, records: 3, end: { seq: 3 } })
})

it('changed, removed and added audit records are detected', async () => {
  await appendRecords(
    catalog(),
    ['1', '2', '3', '4', '5'].map((key) => record(key)),
  )
  await catalog().audit.updateOne({ key: '2' }, { $set: { 'new.text': 'Eve' } })
  expect(await problems()).toEqual(['record 2: its content was changed'])
  await catalog().audit.updateOne({ key: '2' }, { $set: { 'new.text': 'Ada' } })
  expect(await problems()).toEqual([])
  await catalog().audit.updateOne({ key: '2' }, { $set: { 'new.more': 1 } })
  expect(await problems()).toEqual(['record 2: its content was changed'])
  await catalog().audit.updateOne({ key: '2' }, { $unset: { 'new.more': 1 } })
  await catalog().audit.deleteOne({ key: '3' })
  expect(await problems()).toEqual(['records 3 to 3 are missing'])
  await catalog().audit.deleteOne({ key: '5' })
  expect(await problems()).toEqual(['records 3 to 3 are missing', 'records 5 to 5 are missing'])
  await catalog().audit.insertOne(record('stray'))
  expect(await problems()).toContain('1 records are not part of the chain')
})

it('a rewritten chain is distinguished from the chain verified earlier', async () => {
  await appendRecords(catalog(), [record('1'), record('2')])
  const { end: expected } = await verify()
  expect((await verifyChain(catalog(), { key: '', expected })).ok).toBe(true)
  await catalog().audit.deleteMany({})
  await catalog().auditchain.deleteMany({})
  await catalog().transactions.deleteMany({})
  await appendRecords({ ...open().catalog }, [record('1'), record('2')])
  expect(await problems()).toEqual([])
  const report = await verifyChain(catalog(), { key: '', expected })
  expect(report.problems).toEqual(['record 2: differs from the given one'])
})

it('fields can be erased: their values are removed and the chain remains valid', async () => {
  await appendRecords(catalog(), [record('1'), record('2')])
  const [first] = await chain()
  const erased = eraseFields(first as ChainedRecord, 'e1', (field, member) => {
    return field === 'new' && (member === 'text' || member === 'nested')
  }) as ChainedRecord
  expect(erased.new).toMatchObject({ text: '(erased)', nested: '(erased)', number: 5 })
  expect(JSON.stringify(erased)).not.toContain('Ada')
  // Without the salt the erased value cannot be found by trial.
  expect(erased.chain.salt).toBeUndefined()
  await catalog().audit.replaceOne({ key: '1' }, erased)
  expect(await problems()).toEqual([
    'record 1: fields were removed by e1, for which there is no record',
  ])
  const entry = { collection: 'subscribers', type: 'erase', key: '1', operationId: 'e1' }
  await createAudit(catalog()).record(ACTOR, 2000, entry)
  expect(await verify()).toMatchObject({ ok: true, erased: 1 })
  const again = eraseFields(erased, 'e1', (_, member) => member === 'text' || member === 'number')
  await catalog().audit.replaceOne({ key: '1' }, again as ChainedRecord)
  expect(await verify()).toMatchObject({ ok: true, erased: 1 })
  await catalog().audit.updateOne({ key: '1' }, { $set: { 'new.large': 1 } })
  expect(await problems()).toEqual(['record 1: its content was changed'])
})

function removeRuns(links: Parameters<typeof storeRemovedRuns>[2], key: string): Promise<void> {
  return catalog().transaction('store removed ranges', (session) =>
    storeRemovedRuns(catalog(), session, links, key),
  )
}

it('removal by retention is recorded in the chain, and signed if there is a key', async () => {
  await appendRecords(
    catalog(),
    ['1', '2', '3', '4', '5'].map((key) => record(key)),
  )
  const links = (await chain()).map(({ chain: link }) => link)
  await removeRuns(links.slice(0, 2), 'secret')
  expect(await verify('secret')).toMatchObject({ ok: true, records: 5 })
  await catalog().audit.deleteOne({ key: '1' })
  expect(await verify('secret')).toMatchObject({ ok: true, records: 4 })
  await catalog().audit.deleteOne({ key: '2' })
  await removeRuns(links.slice(2, 3), 'secret')
  await catalog().audit.deleteOne({ key: '3' })
  expect(await verify('secret')).toMatchObject({ ok: true, records: 2, removed: 3 })
  expect((await verify('other')).problems).toEqual([
    'records 1 to 3: their removal is not signed with secrets.key',
  ])
  await catalog().auditchain.updateOne({ _id: 'removed/1' }, { $set: { hash: '0'.repeat(64) } })
  expect(await problems()).toEqual(['record 4: does not follow the records removed by retention'])
})

it('the chain continues after retention has removed all records', async () => {
  await appendRecords(catalog(), [record('1'), record('2')])
  const links = (await chain()).map(({ chain: link }) => link)
  await removeRuns(links, '')
  await catalog().audit.deleteMany({})
  expect(await verify()).toMatchObject({ ok: true, records: 0, removed: 2 })
  await appendRecords({ ...open().catalog }, [record('3')])
  expect(await verify()).toMatchObject({ ok: true, records: 1, end: { seq: 3 } })
})
