import { afterEach, describe, expect, it, vi } from 'vitest'
import { NO_PATIENCE } from '../../src/catalog/patience.ts'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import { entryNotRecorded, oldestEntryMs } from '../../src/ledger/streams.ts'
import { heldDescriptors } from '../support/descriptors.ts'
import { cdrFile, container, group, value } from '../support/file-types/ber.ts'
import {
  type CallRecord,
  CDRS,
  COUNTED_CALLS,
  PRICED_CALLS,
  SUMMED_CALLS,
} from '../support/intake/call-records.ts'
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
import { startTestDrain } from '../support/recorder/test-drain.ts'

const scene = useOpenedEach(
  () => openIntakeScene(),
  (opened) => opened.close(),
)

const AT = '2026-10-10T00:00:00Z'

const record = (id: string, more: Partial<CallRecord> = {}) =>
  JSON.stringify({ id, used: 10, msisdn: MSISDN, at: AT, ...more })

/** Records of 10 units each. */
const records = (count: number) => Array.from({ length: count }, (_, index) => record(`r${index}`))

const fileOf = (lines: readonly string[]) => lines.map((line) => `${line}\n`).join('')

const drains: { stop(drainMs: number): Promise<void> }[] = []
afterEach(async () => {
  for (const drain of drains.splice(0)) await drain.stop(5_000)
})

/** Writes lines to MongoDB, as a recorder does. */
async function recordAll(): Promise<void> {
  const drain = await startTestDrain(scene().stores)
  await expect.poll(() => oldestEntryMs(scene().stores.ledger)).toBeNull()
  await drain.stop(5_000)
}

async function spent(): Promise<number> {
  const { buckets } = await loadOwner(scene().stores.ledger, AID, SID)
  return UNITS - (buckets[0]?.free ?? 0)
}

async function lines() {
  const { catalog } = scene().stores
  return catalog.lines.find({ type: 'realtime' }, { projection: { _id: 0 } }).toArray()
}

describe('a file of usage records', () => {
  it('is charged, with a closed line for each record', async () => {
    const path = scene().file('a.jsonl', fileOf(records(50)))
    expect(await scene().take(path)).toMatchObject({
      ...{ name: 'a.jsonl', file_type: 'calls', state: 'done', error: '' },
      ...{ read: 50, charged: 50, duplicates: 0, filtered: 0, rejected: 0, chunk: null },
      totals: [{ usaget: 'data', records: 50, units: 500, price_micros: 0 }],
    })
    await recordAll()
    expect(await lines()).toHaveLength(50)
    expect((await lines())[0]).toMatchObject({ state: 'closed', usagev: 10 })
    expect(await spent()).toBe(500)
  })

  it('is read once; records of another file are duplicates', async () => {
    const text = fileOf(records(30))
    const path = scene().file('a.jsonl', text)
    const first = await scene().take(path)
    expect(await scene().take(path, { worker: { process: () => Promise.reject() } })).toEqual({
      ...first,
      owner: expect.any(String),
    })
    const counts = { state: 'done', read: 30, charged: 0, duplicates: 30, totals: [] }
    expect(await scene().take(scene().file('b.jsonl', text))).toMatchObject(counts)
    await recordAll()
    expect(await scene().take(scene().file('c.jsonl', text))).toMatchObject(counts)
    expect(await spent()).toBe(300)
  })

  it('is closed when an attempt at it fails', async () => {
    const path = scene().file('a.jsonl', fileOf(records(3_000)))
    const worker = { process: () => Promise.reject(new Error('no worker')) }
    await expect(scene().take(path, { worker })).rejects.toThrow('no worker')
    await expect.poll(() => heldDescriptors(process.pid, 0)).not.toContain(path)
  })

  it('has each record once, wherever it is repeated in the file', async () => {
    const all = [...records(50), record('r49'), record('r0'), record('r45'), record('new')]
    const path = scene().file('a.jsonl', fileOf(all))
    expect(await scene().take(path)).toMatchObject({ read: 54, charged: 51, duplicates: 3 })
    expect(await spent()).toBe(510)
  })

  it('keeps a record without a known subscriber or a field, and does not charge it', async () => {
    const wrong = [record('r1', { msisdn: '1' }), '{', record('r2', { msisdn: undefined as never })]
    const path = scene().file(
      'a.jsonl',
      fileOf([record('r0'), ...wrong, record('r3', { used: 0 })]),
    )
    const file = await scene().take(path)
    expect(file).toMatchObject({ read: 5, charged: 1, rejected: 3, filtered: 1, state: 'done' })
    const kept = await scene().stores.catalog.intakerejected.find({}).sort({ line: 1 }).toArray()
    const common = { file: file._id, file_name: 'a.jsonl', file_type: 'calls', state: 'waiting' }
    expect(kept).toMatchObject([
      { ...common, line: 2, text: wrong[0], field: 'record', reason: 'Subscriber not found' },
      { ...common, line: 3, text: '{', field: 'record', reason: 'is not JSON' },
      {
        ...common,
        line: 4,
        text: wrong[2],
        field: 'sid',
        reason: 'is required, or msisdn or imsi in its place',
      },
    ])
  })

  it('may have the prices of its records, which no units pay', async () => {
    const prices = ['1.25', '0.5', '-1']
    const all = prices.map((price, index) => record(`r${index}`, { price }))
    const path = scene().file('a.jsonl', fileOf(all))
    expect(await scene().take(path, {}, PRICED_CALLS)).toMatchObject({
      ...{ state: 'done', charged: 2, rejected: 1 },
      totals: [{ usaget: 'data', records: 2, units: 20, price_micros: 1_750_000 }],
    })
    await recordAll()
    const priced = { prepriced: true, price_of: 'RECORD', in_group: 0, payments: [] }
    expect(await lines()).toMatchObject([
      { ...priced, aprice: 1.25, debt: 1.25 },
      { ...priced, aprice: 0.5, debt: 0.5 },
    ])
    expect(await spent()).toBe(0)
    const kept = await scene().stores.catalog.intakerejected.find({}).toArray()
    expect(kept).toMatchObject([{ field: 'price', reason: expect.stringContaining('negative') }])
  })

  it('fails if its trailer says so, with its records charged', async () => {
    const path = scene().file('a.jsonl', fileOf([...records(3), '{"count":4}']))
    const failed = { state: 'failed', read: 3, charged: 3 }
    const error = 'line 4: count is 4, and the file has 3 records'
    expect(await scene().take(path, {}, COUNTED_CALLS)).toMatchObject({ ...failed, error })
    expect(await scene().take(path, {}, COUNTED_CALLS)).toMatchObject({ ...failed, error })
  })

  it('fails if its records have other sums than its trailer', async () => {
    const take = (name: string, total: number) => {
      const path = scene().file(name, fileOf([...records(50), `{"total":${total}}`]))
      return scene().take(path, {}, SUMMED_CALLS)
    }
    expect(await take('a.jsonl', 500)).toMatchObject({ state: 'done', charged: 50, error: '' })
    const error = 'line 51: total is 510, and the records have 500 of used'
    expect(await take('b.jsonl', 510)).toMatchObject({ state: 'failed', duplicates: 50, error })
  })
})

describe('a file of charging data records', () => {
  const BEGUN = value(13, '2610100000002b0000')
  const cdr = (id: string, msisdn = '795264196866') => {
    const services = group(34, container(10, 7, 0), container(20, 3, 0), container(10, 1, 0))
    return group(79, value(0, '55'), value(5, id), BEGUN, value(22, `91${msisdn}`), services)
  }

  it('has a line for each service; a record is charged once, or waits as a whole', async () => {
    const wrong = cdr('03', '11')
    const file = cdrFile([cdr('01'), cdr('02'), wrong, cdr('01')], { records: 5 })
    expect(await scene().take(scene().file('a.cdr', file), {}, CDRS)).toMatchObject({
      ...{ state: 'failed', error: 'line 5: number of CDRs is 5, and the file has 4 records' },
      ...{ read: 4, charged: 2, duplicates: 1, rejected: 1 },
      totals: [{ usaget: 'data', records: 2, units: 22 }],
    })
    const kept = await scene().stores.catalog.intakerejected.find({}).toArray()
    expect(kept).toMatchObject([{ line: 3, text: wrong.toString('hex') }])
    await recordAll()
    const charged = (await lines()).map((line) => [Reflect.get(line, 'rating_group'), line.usagev])
    expect(charged.sort()).toEqual([10, 10, 20, 20].map((one) => [one, one === 10 ? 8 : 3]))
    expect(await scene().take(scene().file('b.cdr', file), {}, CDRS)).toMatchObject({
      ...{ charged: 0, duplicates: 3, rejected: 1 },
    })
    expect(await spent()).toBe(22)
  })
})

describe('an interrupted file', () => {
  /** A worker that charges some batches, and then fails before or after it has charged one. */
  function dying(batches: number, chargesLast: boolean): IntakeScene['worker'] {
    const { worker } = scene()
    let left = batches
    return {
      ...worker,
      async process(task) {
        if (task.requests.length > 0) left -= 1
        if (left >= 0) return worker.process(task)
        if (chargesLast) await worker.process(task)
        throw new Error('killed')
      },
    }
  }

  it.each([
    ['before a chunk is charged, and not recorded', 0, false, false],
    ['after a chunk is charged, and not recorded', 1, true, false],
    ['after a chunk is charged and recorded', 1, true, true],
    ['after the first chunk is charged and recorded', 0, true, true],
  ])('continues, if it ended %s', async (_, batches, chargesLast, isRecorded) => {
    const all = [...records(70), record('r69'), record('r3')]
    const path = scene().file('a.jsonl', fileOf(all))
    // Not MongoDB: the subscriber is cached from then on.
    await scene().take(scene().file('other.jsonl', fileOf([record('other'), record('r5')])))
    if (isRecorded) await recordAll()
    const killed = scene().take(path, { worker: dying(batches, chargesLast) })
    await expect(killed).rejects.toThrow('killed')
    if (isRecorded) await recordAll()
    expect(await scene().take(path)).toMatchObject({
      ...{ state: 'done', read: 72, charged: 69, duplicates: 3 },
      totals: [{ usaget: 'data', records: 69, units: 690 }],
    })
    await recordAll()
    expect(await lines()).toHaveLength(71)
    expect(await spent()).toBe(710)
  })

  it('stops for another process that takes it over', async () => {
    const path = scene().file('a.jsonl', fileOf(records(70)))
    const { worker } = scene()
    let second: Promise<unknown> | null = null
    const first = scene().take(path, {
      worker: {
        async process(task) {
          second ??= scene().take(path)
          await second
          return worker.process(task)
        },
      },
    })
    await expect(first).rejects.toThrow('another process works on a.jsonl')
    expect(await second).toMatchObject({ state: 'done', charged: 70, duplicates: 0 })
    expect(await spent()).toBe(700)
  })

  it('stores no rejected records when another process has it', async () => {
    const path = scene().file('a.jsonl', fileOf([record('r0'), '{']))
    const { worker, stores } = scene()
    const { intakefiles, intakerejected } = stores.catalog
    const taken = scene().take(path, {
      worker: {
        async process(task) {
          await intakefiles.updateOne({}, { $set: { owner: 'other' } })
          return worker.process(task)
        },
      },
    })
    await expect(taken).rejects.toThrow('another process works on a.jsonl')
    expect(await intakerejected.find({}).toArray()).toEqual([])
  })

  it('ends when its records under way are charged, if the next ones cannot be read', async () => {
    const path = scene().file('a.jsonl', fileOf(records(30)))
    const { worker, stores } = scene()
    const { catalog } = stores
    let fail = () => {}
    const failed = new Promise<void>((resolve) => {
      fail = resolve
    })
    let finds = 0
    const find: typeof catalog.lines.find = (...args) => {
      finds += 1
      if (finds === 1) return catalog.lines.find(...args)
      fail()
      throw new Error('gone')
    }
    let underWay = 0
    const slow: IntakeScene['worker'] = {
      ...worker,
      async process(task) {
        underWay += 1
        await failed
        return worker.process(task).finally(() => {
          underWay -= 1
        })
      },
    }
    const lines = { ...catalog.lines, find }
    const taken = scene().take(path, { worker: slow, catalog: { ...catalog, lines } })
    await expect(taken).rejects.toThrow('gone')
    expect({ finds, underWay }).toEqual({ finds: 2, underWay: 0 })
  })
})

describe('an outage', () => {
  it('postpones records, and rejects none', async () => {
    const path = scene().file('a.jsonl', fileOf(records(30)))
    const { worker, intake } = scene()
    const onWait = vi.fn()
    let attempts = 0
    const failing: IntakeScene['worker'] = {
      ...worker,
      async process(task) {
        attempts += 1
        const { outcomes, stats } = await worker.process(task)
        if (attempts > 4) return { outcomes, stats }
        // Charged, but the answer is lost.
        return { outcomes: outcomes.map(() => plainOutcome('storeDown', 'redis: gone')), stats }
      },
    }
    const patience = { ...intake.patience, onWait }
    const file = await scene().take(path, { worker: failing, patience })
    expect(file).toMatchObject({ state: 'done', charged: 30, duplicates: 0, rejected: 0 })
    expect(onWait).toHaveBeenCalledWith('redis: gone')
    expect(onWait).toHaveBeenLastCalledWith(null)
    expect(await spent()).toBe(300)
  })

  it('of the recorder makes a file wait: the ledger will forget its records', async () => {
    const { ledger } = scene().stores
    const text = fileOf(records(5))
    await scene().take(scene().file('a.jsonl', text))
    await expect
      .poll(async () => Date.now() - ((await oldestEntryMs(ledger)) ?? 0))
      .toBeGreaterThan(50)
    const impatient = { replayMs: 100, patience: NO_PATIENCE }
    await expect(scene().take(scene().file('b.jsonl', text), impatient)).rejects.toMatchObject({
      ...{ name: 'RecordsPostponedError', message: 'the recorder lags behind' },
    })
    const waits: (string | null)[] = []
    const { patience } = scene().intake
    const taken = scene().take(scene().file('b.jsonl', text), {
      replayMs: 100,
      patience: { ...patience, onWait: (reason) => void waits.push(reason) },
    })
    const lagging = 'the recorder lags behind'
    await expect.poll(() => waits.filter((one) => one === lagging).length).toBeGreaterThan(1)
    drains.push(await startTestDrain(scene().stores))
    expect(await taken).toMatchObject({ charged: 0, duplicates: 5 })
    // The wait is reported once.
    expect(waits.filter((one, index) => one !== waits[index - 1])).toEqual([null, lagging, null])
  })

  it('of a single entry that cannot be recorded ends the intake', async () => {
    const { ledger } = scene().stores
    await ledger.redis.client.xadd(ledger.keys.stream(0), '*', 'r', 'broken')
    drains.push(await startTestDrain(scene().stores))
    await expect.poll(() => entryNotRecorded(ledger, 8)).not.toBeNull()
    const taken = scene().take(scene().file('b.jsonl', fileOf(records(6))), { replayMs: 100 })
    await expect(taken).rejects.toMatchObject({
      name: 'UnrecordedEntryError',
      message: expect.stringMatching(/^\d+\/\d+-\d+ of the ledger cannot be recorded: /),
    })
  })
})
