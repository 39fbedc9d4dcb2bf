import { describe, expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import { RECORD_BYTES_MAX } from '../../src/file-types/records/framing.ts'
import { chargeTexts } from '../../src/intake/charge-texts.ts'
import {
  dropRecord,
  listRejected,
  type Resubmission,
  resubmitRecord,
} from '../../src/intake/rejected.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { DEMO_BY } from '../support/catalog/store.ts'
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
const resubmit = (
  id: string,
  text: string | null = null,
  more: Partial<IntakeScene['intake']> = {},
): Promise<Resubmission> =>
  resubmitRecord({ ...scene().intake, ...more }, findFileType, id, text, DEMO_BY.actor)
/** A worker for which the subscriber does not exist. */
const refusing: IntakeScene['worker'] = {
  async process(task) {
    const { stats } = await scene().worker.process({ ...task, requests: [] })
    return { outcomes: task.requests.map(() => plainOutcome('unknownSubscriber')), stats }
  },
  close: () => Promise.resolve(),
} as IntakeScene['worker']
const UNKNOWN = { state: 'unknown', reason: '' }

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

  it('cannot be dropped or submitted with another text while it is charged', async () => {
    const id = await reject()
    const { worker, stores } = scene()
    const others: unknown[] = []
    const meanwhile: IntakeScene['worker'] = {
      ...worker,
      async process(task) {
        if (others.length === 0) {
          others.push(await dropRecord(stores.catalog, id, DEMO_BY.actor, 5))
          others.push(await resubmit(id, textOf('other', MSISDN)))
        }
        return worker.process(task)
      },
    }
    const done = await resubmit(id, textOf('b', MSISDN), { worker: meanwhile })
    expect(done).toEqual({ state: 'charged', reason: '' })
    expect(others).toEqual([false, UNKNOWN])
    expect(await spent()).toBe(30)
  })

  it('can only be submitted with the same text after an interruption', async () => {
    const id = await reject()
    const { worker, stores } = scene()
    const dying: IntakeScene['worker'] = {
      ...worker,
      async process(task) {
        await worker.process({ ...task, mayLookUp: true })
        throw new Error('killed')
      },
    }
    const text = textOf('b', MSISDN)
    await expect(resubmit(id, text, { worker: dying })).rejects.toThrow('killed')
    expect(await stores.catalog.intakerejected.findOne({ _id: id })).toMatchObject({
      ...{ state: 'submitted', text },
    })
    expect(await resubmit(id, textOf('other', MSISDN))).toEqual(UNKNOWN)
    expect(await dropRecord(stores.catalog, id, DEMO_BY.actor, 5)).toBe(false)
    expect(await resubmit(id)).toEqual({ state: 'charged', reason: '' })
    expect(await spent()).toBe(30)
  })

  it('is charged by one text only, if one is submitted twice at once', async () => {
    const id = await reject()
    const { worker } = scene()
    const text = textOf('b', MSISDN)
    const others: unknown[] = []
    const slow: IntakeScene['worker'] = {
      ...worker,
      async process(task) {
        if (others.length === 0) {
          others.push(await resubmit(id, text, { worker: refusing }))
          others.push(await resubmit(id, textOf('other', MSISDN)))
        }
        return worker.process(task)
      },
    }
    const done = await resubmit(id, text, { worker: slow })
    expect({ done, others }).toEqual({
      done: { state: 'charged', reason: '' },
      others: [UNKNOWN, UNKNOWN],
    })
    expect(await spent()).toBe(30)
  })

  it('is not charged any more by a process that was thought to have ended', async () => {
    const id = await reject()
    const { worker } = scene()
    const text = textOf('b', MSISDN)
    const hour = { ...systemClock, nowMs: () => systemClock.nowMs() + 3_600_000 }
    const others: unknown[] = []
    const slow: IntakeScene['worker'] = {
      ...worker,
      async process(task) {
        if (others.length > 0) return worker.process(task)
        others.push(await resubmit(id, text))
        others.push(await resubmit(id, text, { worker: refusing, clock: hour }))
        others.push(await resubmit(id, textOf('other', MSISDN)))
        const { stats } = await worker.process({ ...task, requests: [] })
        return { outcomes: task.requests.map(() => plainOutcome('storeDown')), stats }
      },
    }
    expect(await resubmit(id, text, { worker: slow })).toEqual(UNKNOWN)
    const reason = 'Subscriber not found'
    const [rejected, charged] = [
      { state: 'rejected', reason },
      { state: 'charged', reason: '' },
    ]
    expect(others).toEqual([UNKNOWN, rejected, charged])
    expect(await spent()).toBe(30)
  })

  it('needs its text if the stored one is not the whole record', async () => {
    await scene().take(scene().file('long.jsonl', 'x'.repeat(RECORD_BYTES_MAX + 1)))
    const [rejected] = await waiting()
    const reason = `is longer than ${RECORD_BYTES_MAX} bytes: its text must be given`
    expect(await resubmit(rejected?._id ?? '')).toEqual({ state: 'rejected', reason })
  })

  it('is listed by its line in its file, and in all files by the time', async () => {
    const { catalog } = scene().stores
    const of = (file: string, line: number, created: number) => {
      const times = { created: new Date(created), updated: new Date(created) }
      const more = { file_name: file, file_type: 'calls', text: '', field: 'record', reason: '' }
      return { _id: `${file}${line}`, file, line, ...more, state: 'waiting' as const, ...times }
    }
    await catalog.intakerejected.insertMany([of('a', 1, 1), of('a', 2, 3), of('b', 1, 2)])
    const ids = async (query: { file?: string }) =>
      (await listRejected(catalog, query, { skip: 0, limit: 9 })).map(({ _id }) => _id)
    expect(await ids({ file: 'a' })).toEqual(['a1', 'a2'])
    expect(await ids({})).toEqual(['a2', 'b1', 'a1'])
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

it('a record alone may begin with a byte order mark, and is the same record', async () => {
  const id = await reject()
  const text = `\ufeff${textOf('b', MSISDN)}`
  expect(await resubmit(id, text)).toEqual({ state: 'charged', reason: '' })
  const stored = await scene().stores.catalog.intakerejected.findOne({ _id: id })
  expect(stored?.text).toBe(textOf('b', MSISDN))
  const [again] = await chargeTexts(scene().intake, findFileType, 'calls', [text])
  expect(again).toMatchObject({ state: 'duplicate', reason: '' })
  expect(await spent()).toBe(30)
})

it('records of a caller are charged once, whatever they are sent with at once', async () => {
  const [a, b] = [textOf('x', MSISDN), textOf('y', MSISDN)]
  const lists = [[a], [a, b], [b, a], [a, a, b]]
  const charging = lists.map((texts) => chargeTexts(scene().intake, findFileType, 'calls', texts))
  const states = (await Promise.all(charging)).flat().map(({ state }) => state)
  expect(states.filter((state) => state === 'charged')).toHaveLength(2)
  expect(await spent()).toBe(20)
})
