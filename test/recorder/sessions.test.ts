/** Sessions charged by a real worker, at every point at which a recorder may read them. */
import { expect, it } from 'vitest'
import { openStreamReader, type StreamReader, streamBacklog } from '../../src/ledger/streams.ts'
import { sweepPartition } from '../../src/ledger/sweep.ts'
import { coalesce } from '../../src/recorder/coalesce.ts'
import { type Drain, startDrain } from '../../src/recorder/drain.ts'
import { writeFlush } from '../../src/recorder/write.ts'
import { READ_BYTES } from '../support/ledger.ts'
import { useOpened } from '../support/opened.ts'
import { QUICK_DRAIN, startTestStores } from '../support/recorder/accounts.ts'
import {
  aidOf,
  DATA_UNITS,
  LEDGER,
  NOW_MS,
  openProcessorFixture,
  type ProcessorFixture,
  REPLAY_MS,
  request,
  service,
} from '../support/workers/processor-fixture.ts'

const CREDIT = 1_000_000
const stores = useOpened(startTestStores)
const scene = useOpened(() => openProcessorFixture(stores().server.url))

const connect = () => stores().connect({ partitions: LEDGER.partitions })

async function startTestDrain(consumer: string, roundBytesMax: number): Promise<Drain> {
  const ledger = await connect()
  const drain = startDrain({
    ...QUICK_DRAIN,
    ledger,
    catalog: stores().catalog,
    consumer,
    roundBytesMax,
    blockMs: 5,
    claimIdleMs: 100,
    claimEveryMs: 50,
  })
  return {
    async stop(drainMs) {
      await drain.stop(drainMs)
      await ledger.redis.close()
    },
  }
}

async function drainAll(): Promise<void> {
  const drain = await startTestDrain('one', 100_000)
  await expect.poll(() => streamBacklog(scene().ledger)).toBe(0)
  await drain.stop(1_000)
}

type Kind = 'start' | 'update' | 'release'

/** Sends a request of session `session-<sid>`, and expects it to be granted. */
async function charge(by: ProcessorFixture, kind: Kind, sid: number, number: number, used = 0) {
  const requested = kind === 'release' ? -1 : 100
  const [outcome] = await by.charge(request(kind, sid, number, [service(requested, used)]))
  expect(outcome?.reason).toBe('granted')
}

/** The MongoDB state of a subscriber: one text per line, and the units that its bucket spent. */
async function recorded(sid: number) {
  const lines = await stores().catalog.lines.find({ sid, type: 'realtime' }).toArray()
  const balances = await stores().catalog.balances.find({ sid }).toArray()
  const stamps = new Set(lines.map(({ stamp }) => stamp))
  expect(stamps.size).toBe(lines.length)
  return {
    lines: lines.map((line) => `${line.usagev} ${'state' in line ? line.state : ''}`).sort(),
    spent: balances.map(({ spent }) => spent),
  }
}

/** Forgets the ended sessions of an account, like the sweep. */
async function forgetEnded(sid: number): Promise<void> {
  const partition = scene().ledger.keys.partitionOf(aidOf(sid))
  const settings = { batchMax: 100, leaseMs: 1_000, replayMs: REPLAY_MS, token: 'test' }
  const endMs = NOW_MS + REPLAY_MS + 1
  const { forgotten } = await sweepPartition(scene().ledger, partition, settings, endMs)
  expect(forgotten).toBe(1)
}

it('one line per opening is recorded if a session id is used again before any read', async () => {
  await scene().credit(1101, DATA_UNITS, CREDIT)
  await charge(scene(), 'start', 1101, 0)
  await charge(scene(), 'update', 1101, 1, 30)
  await charge(scene(), 'update', 1101, 2, 30)
  await charge(scene(), 'release', 1101, 3, 10)
  await forgetEnded(1101)
  const later = await openProcessorFixture(stores().server.url)
  later.clock.set(NOW_MS + REPLAY_MS + 2)
  await charge(later, 'start', 1101, 0)
  await charge(later, 'update', 1101, 1, 7)
  await drainAll()
  expect(await recorded(1101)).toEqual({ lines: ['7 open', '70 closed'], spent: [77] })
  await charge(later, 'release', 1101, 2, 5)
  await drainAll()
  expect(await recorded(1101)).toEqual({ lines: ['12 closed', '70 closed'], spent: [82] })
  await later.close()
})

it('one line per session is recorded, whenever a recorder reads it', async () => {
  const sids = Array.from({ length: 12 }, (_, index) => 1200 + 100 * index + 1)
  for (const sid of sids) await scene().credit(sid, DATA_UNITS, CREDIT)
  const drains = await Promise.all([startTestDrain('one', 1), startTestDrain('two', 1)])
  const live = async (sid: number) => {
    await charge(scene(), 'start', sid, 0)
    for (const number of [1, 2, 3]) await charge(scene(), 'update', sid, number, number * 10)
    await charge(scene(), 'release', sid, 4, 5)
  }
  await Promise.all(sids.map(live))
  await expect.poll(() => streamBacklog(scene().ledger)).toBe(0)
  await Promise.all(drains.map((drain) => drain.stop(1_000)))
  for (const sid of sids) {
    expect(await recorded(sid)).toEqual({ lines: ['65 closed'], spent: [65] })
  }
})

it('the newest state is kept if a recorder with an older state writes last', async () => {
  const sid = 1_001
  const readers: StreamReader[] = []
  for (const name of ['slow', 'fast']) readers.push(await openStreamReader(await connect(), name))
  const [slow, fast] = readers as [StreamReader, StreamReader]
  const write = async (entries: Parameters<typeof coalesce>[0]) =>
    expect(await writeFlush(stores().catalog, coalesce(entries), () => '')).toEqual(new Map())
  await scene().credit(sid, DATA_UNITS, CREDIT)
  await charge(scene(), 'start', sid, 0)
  await charge(scene(), 'update', sid, 1, 40)
  const early = await slow.read(READ_BYTES, 1)
  await charge(scene(), 'update', sid, 2, 2)
  const middle = await fast.read(READ_BYTES, 1)
  await charge(scene(), 'release', sid, 3, 3)
  const late = await fast.read(READ_BYTES, 1)
  expect([early, middle, late].map(({ entries }) => entries.length)).toEqual([3, 1, 1])
  await write(late.entries)
  expect(await recorded(sid)).toEqual({ lines: ['45 closed'], spent: [45] })
  await write(middle.entries)
  await write(early.entries)
  expect(await recorded(sid)).toEqual({ lines: ['45 closed'], spent: [45] })
  await fast.acknowledge([...middle.entries, ...late.entries])
  // Read again by another one after the session has ended: the same outcome.
  const again = await fast.readPending(READ_BYTES, 0)
  expect(again.entries).toHaveLength(early.entries.length)
  await write(again.entries)
  await fast.acknowledge(again.entries)
  expect(await recorded(sid)).toEqual({ lines: ['45 closed'], spent: [45] })
  expect(await streamBacklog(scene().ledger)).toBe(0)
})
