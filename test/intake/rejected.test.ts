import { describe, expect, it } from 'vitest'
import {
  dropRecord,
  listRejected,
  type Resubmission,
  readOne,
  resubmitRecord,
} from '../../src/intake/rejected.ts'
import { DEMO_BY } from '../support/catalog/store.ts'
import { CSV, recordType } from '../support/file-types/records.ts'
import { CALLS } from '../support/intake/call-records.ts'
import {
  AID,
  type IntakeScene,
  MSISDN,
  openIntakeScene,
  SID,
  UNITS,
} from '../support/intake/intake-scene.ts'
import { useOpenedEach } from '../support/opened.ts'
import { loadOwner } from '../support/recorder/accounts.ts'

const scene = useOpenedEach<IntakeScene>(openIntakeScene, (opened) => opened.close())

const textOf = (id: string, msisdn: string) =>
  JSON.stringify({ id, used: 10, msisdn, at: '2026-10-10T00:00:00Z' })

/** Takes a file with three records, of which the second one is wrong. Returns its id. */
async function reject(): Promise<string> {
  const text = [textOf('a', MSISDN), textOf('b', '1'), textOf('c', MSISDN)].join('\n')
  await scene().take(scene().file('x.jsonl', text))
  const [rejected] = await waiting()
  return rejected?._id ?? ''
}

const waiting = () =>
  listRejected(scene().stores.catalog, { state: 'waiting' }, { skip: 0, limit: 10 })

const findFileType = async () => CALLS
const resubmit = (id: string, text: string | null = null): Promise<Resubmission> =>
  resubmitRecord(scene().intake, findFileType, id, text, DEMO_BY.actor)

async function spent(): Promise<number> {
  const { buckets } = await loadOwner(scene().stores.ledger, AID, SID)
  return UNITS - (buckets[0]?.free ?? 0)
}

describe('a rejected record', () => {
  it('is charged once, when it is submitted with a correction', async () => {
    const id = await reject()
    expect(await resubmit(id, textOf('b', MSISDN))).toEqual({ state: 'charged', reason: '' })
    expect(await spent()).toBe(30)
    expect(await waiting()).toEqual([])
    const corrected = { state: 'corrected', text: textOf('b', MSISDN) }
    expect(await scene().stores.catalog.intakerejected.findOne({ _id: id })).toMatchObject(
      corrected,
    )
    expect(await resubmit(id, textOf('b', MSISDN))).toEqual({ state: 'unknown', reason: '' })
    expect(await spent()).toBe(30)
  })

  it('stays with the text that was submitted last, if that is wrong as well', async () => {
    const id = await reject()
    const reason = 'Subscriber not found'
    expect(await resubmit(id)).toEqual({ state: 'rejected', reason })
    expect(await resubmit(id, textOf('b', '2'))).toEqual({ state: 'rejected', reason })
    expect(await waiting()).toMatchObject([{ _id: id, text: textOf('b', '2'), reason }])
    expect(await resubmit(id, '{')).toEqual({ state: 'rejected', reason: 'is not JSON' })
    const two = `${textOf('b', MSISDN)}\n${textOf('d', MSISDN)}`
    expect(await resubmit(id, two)).toEqual({ state: 'rejected', reason: 'must be one' })
    expect(await spent()).toBe(20)
  })

  it('is not charged as one that was charged before', async () => {
    const id = await reject()
    expect(await resubmit(id, textOf('c', MSISDN))).toEqual({ state: 'duplicate', reason: '' })
    expect(await spent()).toBe(20)
    expect(await waiting()).toEqual([])
  })

  it('can be dropped, and is kept', async () => {
    const id = await reject()
    const { catalog } = scene().stores
    expect(await dropRecord(catalog, id, DEMO_BY.actor, 5)).toBe(true)
    expect(await dropRecord(catalog, id, DEMO_BY.actor, 6)).toBe(false)
    expect(await resubmit(id)).toEqual({ state: 'unknown', reason: '' })
    const dropped = { state: 'dropped', updated: new Date(5) }
    expect(await catalog.intakerejected.findOne({ _id: id })).toMatchObject(dropped)
  })
})

describe('a record alone', () => {
  it.each([{}, { csv_has_footer: true }])('is no trailer: %j', (more) => {
    const read = readOne(recordType({ parser: { ...CSV, ...more } }), 7, '1,2,3,4')
    expect(read).toMatchObject({ line: 7, problem: null, message: { when: '1', seconds: '4' } })
  })
})
