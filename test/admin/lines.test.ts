/** Usage records by the API: charged, listed, submitted again, dropped. */
import { expect, it } from 'vitest'
import type { Admin } from '../../src/admin/start.ts'
import { QUICK_RECORDER, startTestAdmin } from '../support/admin/test-admin.ts'
import { CALL_RECORDS } from '../support/intake/call-records.ts'
import { AID, MSISDN, openIntakeScene, SID, UNITS } from '../support/intake/intake-scene.ts'
import { useOpened } from '../support/opened.ts'
import { loadOwner } from '../support/recorder/accounts.ts'

const scene = useOpened(openIntakeScene)
const admin = useOpened<Admin>(
  async () => {
    const { stores } = scene()
    const by = { rev: 1, changed: new Date(), changed_by: 'cli' }
    await stores.catalog.config.insertOne({ _id: 'file_types', value: [CALL_RECORDS], ...by })
    return startTestAdmin(stores, QUICK_RECORDER)
  },
  (opened) => opened.close(500),
)

interface Answer {
  status: number
  details: { id: string; stamp: string }[]
}

async function ask(path: string, body?: object): Promise<Answer> {
  const init = { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const url = `http://127.0.0.1:${admin().port}/api/${path}`
  const response = await fetch(url, body === undefined ? {} : { method: 'POST', ...init })
  return response.json() as Promise<Answer>
}

const record = (id: string, msisdn: string = MSISDN) => ({
  ...{ id, used: 10, msisdn, at: '2026-10-10T00:00:00Z' },
})

async function spent(): Promise<number> {
  const { buckets } = await loadOwner(scene().stores.ledger, AID, SID)
  return UNITS - (buckets[0]?.free ?? 0)
}

it('are charged once, and each has an answer', async () => {
  const records = [record('a'), JSON.stringify(record('b')), record('c', '1'), '{', record('a')]
  const call = { file_type: 'calls', records }
  const { status, details } = await ask('lines', call)
  const [first] = details
  expect(status).toBe(1)
  const stamp = expect.stringMatching(/^[\w-]{22}-0-1-1$/)
  expect(details).toEqual([
    { state: 'charged', stamp, reason: '' },
    { state: 'charged', stamp, reason: '' },
    { state: 'rejected', stamp: '', reason: 'Subscriber not found' },
    { state: 'rejected', stamp: '', reason: 'is not JSON' },
    { state: 'duplicate', stamp: first?.stamp, reason: '' },
  ])
  const { catalog } = scene().stores
  const count = () => catalog.lines.countDocuments({ stamp: first?.stamp ?? '' })
  await expect.poll(count).toBe(1)
  const again = await ask('lines', { file_type: 'calls', records: [record('a')] })
  expect(again.details).toMatchObject([{ state: 'duplicate' }])
  expect(await spent()).toBe(20)
})

it('are refused as a whole without a file type of records, or if they are too many', async () => {
  const none = await ask('lines', { file_type: 'other', records: [] })
  expect(none).toMatchObject({ status: 0, desc: 'there is no file type other' })
  const many = await ask('lines', { file_type: 'calls', records: new Array(1_001).fill('{}') })
  expect(JSON.stringify(many)).toContain('must have at most 1000 members')
  const wrong = await ask('lines', { file_type: 'calls', records: [5] })
  expect(wrong).toMatchObject({ status: 0, errors: [{ path: 'records.0' }] })
})

it('that were rejected are listed, corrected and dropped', async () => {
  const before = await spent()
  const wrong = ['x', 'y'].map((id) => JSON.stringify(record(id, '1')))
  const text = [...wrong, JSON.stringify(record('z'))].join('\n')
  const { _id: file } = await scene().take(scene().file('calls.jsonl', text))
  const counts = { file, name: 'calls.jsonl', state: 'done', charged: 1, rejected: 2 }
  const totals = [{ usaget: 'data', records: 1, units: 10, price: 0 }]
  const files = await ask('lines/files?state=done')
  expect(files.details).toMatchObject([{ ...counts, totals, offset: text.length }])
  const path = `lines/rejected?state=waiting&file=${file}`
  const { details } = await ask(path)
  expect(details).toMatchObject([
    { line: 1, text: wrong[0] },
    { line: 2, text: wrong[1] },
  ])
  const [first, second] = details
  const listed = async (filter: string) =>
    (await ask(`lines/rejected?${filter}`)).details.map(({ id }) => id)
  expect(await listed(`id=${second?.id}`)).toEqual([second?.id])
  expect(await listed('file_type=calls&reason=Subscriber not found')).toHaveLength(2)
  expect(await listed('file_type=other')).toEqual([])
  expect(await listed('reason=is not JSON')).toEqual([])
  const corrected = JSON.stringify(record('x'))
  const charged = await ask('lines/resubmit', { id: first?.id, text: corrected })
  expect(charged).toMatchObject({ status: 1, state: 'charged', reason: '' })
  const rejected = await ask('lines/resubmit', { id: second?.id })
  expect(rejected).toMatchObject({ state: 'rejected', reason: 'Subscriber not found' })
  expect(await ask('lines/drop', { id: second?.id })).toMatchObject({ status: 1 })
  const gone = { status: 0, desc: 'no rejected record with this id waits' }
  expect(await ask('lines/drop', { id: second?.id })).toMatchObject(gone)
  expect(await ask('lines/resubmit', { id: first?.id })).toMatchObject(gone)
  expect((await ask(path)).details).toEqual([])
  expect(await spent()).toBe(before + 20)
  const { catalog } = scene().stores
  const audit = await catalog.audit.find({ collection: 'intake_rejected' }).toArray()
  expect(audit.map(({ key }) => key)).toEqual([first?.id, second?.id, second?.id])
  expect(JSON.stringify(audit)).not.toContain(MSISDN)
})
