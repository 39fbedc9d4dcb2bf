/** Audit records in MongoDB. */
import { expect, it } from 'vitest'
import { appendRecords } from '../../../src/catalog/audit/append.ts'
import { auditDocument, createAudit } from '../../../src/catalog/audit/audit.ts'
import { withGuards } from '../../../src/catalog/connection.ts'
import { CatalogUnavailableError } from '../../../src/catalog/errors.ts'
import { useOpened } from '../../support/opened.ts'
import { startTestStores } from '../../support/recorder/accounts.ts'

const ACTOR = { by: 'token', id: 'c1', name: 'crm', address: '192.0.2.1' } as const
const open = useOpened(startTestStores)

it('audit records are stored unchanged, whatever the names of their fields', async () => {
  const { catalog } = open()
  const document = JSON.parse('{"$set":{"a.b":{"$gt":1}},"__proto__":{"x":1},"":2,"a.b":[{}]}')
  const entry = { collection: 'settings', type: 'set', key: 'odd', old: document, new: document }
  await createAudit(catalog).record(ACTOR, 5, entry)
  const found = await catalog.audit.findOne({ key: 'odd' })
  expect(JSON.stringify(found?.new)).toBe(JSON.stringify(document))
  expect(found).toMatchObject({
    source: 'audit',
    collection: 'settings',
    type: 'set',
    urt: new Date(5),
    user: { _id: 'c1', name: 'crm', api: true, by: 'token' },
    ip: '192.0.2.1',
  })
})

it('audit records are stored once: a repeated write adds only missing ones', async () => {
  const { catalog } = open()
  const record = (key: string, type: string) =>
    auditDocument(ACTOR, 0, { collection: 'once', type, key }, key)
  await appendRecords(catalog, [record('b', 'first')])
  await appendRecords(catalog, [record('a', 'second'), record('b', 'second'), record('c', 'x')])
  const found = await catalog.audit.find({ collection: 'once' }).sort({ key: 1 }).toArray()
  expect(found.map(({ key, type }) => [key, type])).toEqual([
    ['a', 'second'],
    ['b', 'first'],
    ['c', 'x'],
  ])
})

it('audit records that cannot be stored cause an error', async () => {
  const run = async () => {
    throw new CatalogUnavailableError('away')
  }
  const audit = createAudit(withGuards(open().catalog, { run }))
  const entry = { collection: 'login', type: 'login', key: 'ada' }
  await expect(audit.record(ACTOR, 0, entry)).rejects.toThrow(CatalogUnavailableError)
})

it('one write accepts several audit records, or none', async () => {
  const { catalog } = open()
  const entries = ['x', 'y'].map((key) => ({ collection: 'several', type: 'set', key }))
  await createAudit(catalog).record(ACTOR, 0, ...entries)
  await createAudit(catalog).record(ACTOR, 0)
  expect(await catalog.audit.countDocuments({ collection: 'several' })).toBe(2)
})
