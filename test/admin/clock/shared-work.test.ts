/** Work that other processes have taken when a move of the clock comes to it. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type ClockMover, createClockMover } from '../../../src/admin/clock/move.ts'
import { NODE_ACTOR } from '../../../src/catalog/actor.ts'
import { createAudit } from '../../../src/catalog/audit/audit.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { withGuards } from '../../../src/catalog/connection.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { beginJob, type ClaimedJob, claimJob, type NewJob } from '../../../src/jobs/jobs.ts'
import type { JobHandlers } from '../../../src/jobs/runner.ts'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { sweepPartition } from '../../../src/ledger/sweep.ts'
import { type Drain, startDrain } from '../../../src/recorder/drain.ts'
import { type Clock, clockWith, createOffset, systemClock } from '../../../src/runtime/clock.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import {
  holdUnits,
  QUICK_DRAIN,
  silent,
  startTestStores,
  type TestStores,
  topUp,
} from '../../support/recorder/accounts.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DAY_MS = 24 * HOUR_MS
const START_MS = Date.UTC(2024, 0, 10, 12)
const RENEWAL = new ObjectId()

let stores: TestStores
let drain: Drain
let clock: Clock
let dueMs: number
/** Called before each operation of the process that moves the clock. */
let before: (what: string) => Promise<void> | void
/** Times at which that process has done the work of the job. */
let ranMs: number[]

beforeAll(async () => {
  stores = await startTestStores()
  const { catalog } = stores
  const ledger = await stores.connect()
  // A round only when one is requested.
  const pauses = { gatherMs: HOUR_MS, blockMs: 20, claimIdleMs: HOUR_MS, claimEveryMs: HOUR_MS }
  drain = startDrain({ ...QUICK_DRAIN, ...pauses, ledger, catalog })
})
afterAll(async () => {
  await drain?.stop(100)
  await stores?.close()
})

beforeEach(async () => {
  await Promise.all([stores.catalog.jobs.deleteMany({}), stores.catalog.autorenew.deleteMany({})])
  clock = clockWith(createOffset(START_MS - systemClock.nowMs()))
  dueMs = clock.nowMs() + 20 * DAY_MS
  before = () => undefined
  ranMs = []
})

async function renew(): Promise<number> {
  const { catalog } = stores
  const isDue = { _id: RENEWAL, next_renew: { $lte: new Date(clock.nowMs()) } }
  const set = { next_renew: new Date(dueMs + 900 * DAY_MS) }
  const { modifiedCount } = await catalog.autorenew.updateOne(isDue, { $set: set })
  if (modifiedCount > 0) ranMs.push(clock.nowMs())
  return clock.nowMs() + 10_000
}

const handlers: JobHandlers = {
  async charge() {
    ranMs.push(clock.nowMs())
    return null
  },
  autorenew: renew,
}

function mover(): ClockMover {
  const { catalog, ledger } = stores
  const config = loadConfig({
    env: {
      TOLLGATE_CLOCK_TEST: 'true',
      TOLLGATE_SWEEP_INTERVAL_MS: String(HOUR_MS),
      TOLLGATE_CATALOG_POLL_MS: '10',
    },
  })
  return createClockMover({
    catalog: withGuards(catalog, {
      async run(what, operation) {
        await before(what)
        return catalog.run(what, operation)
      },
    }),
    ...{ ledger, clock, config, handlers, log: silent },
    metrics: { sessionsExpired: () => undefined },
    audit: createAudit(catalog),
    charges: { gateways: { live: async () => null } },
  })
}

/** Moves the clock by forty days. */
const move = () => mover().move(dueMs + 20 * DAY_MS, NODE_ACTOR)

async function begin(kind: NewJob['kind'], atMs: number): Promise<void> {
  const own = { catalog: stores.catalog, clock }
  await beginJob(own, { kind, subject: 'test', options: {}, actor: NODE_ACTOR })
  const due = new Date(atMs)
  await stores.catalog.jobs.updateOne({ kind }, { $set: { state: 'waiting', due } })
}

/** Claims the only job, as another process. */
async function claimElsewhere(): Promise<ClaimedJob> {
  const own = { catalog: stores.catalog, clock }
  const job = await stores.catalog.jobs.findOne()
  const claimed = job === null ? null : await claimJob(own, job)
  if (claimed === null) throw new Error('the job was not claimed')
  return claimed
}

/** From now on the other process ends its job after the move has looked for jobs many times. */
function endsLater(claimed: ClaimedJob, atMs: () => number): void {
  let looked = 0
  before = async (what) => {
    if (what === 'read jobs') looked += 1
    if (what === 'read jobs' && looked === 20) await claimed.end({ atMs: atMs() })
  }
}

function expectRunWhenDue(): void {
  expect(ranMs).toHaveLength(1)
  expect(Math.floor((Number(ranMs[0]) - dueMs) / HOUR_MS)).toBe(0)
}

describe('a job that another process runs', () => {
  it('is waited for: the clock does not go on without it', async () => {
    await begin('charge', dueMs)
    endsLater(await claimElsewhere(), () => dueMs)
    await move()
    expectRunWhenDue()
  })

  it.each(['charge', 'autorenew'] as const)(
    '%s, claimed while the time is set, is looked at again',
    async (kind) => {
      await begin(kind, kind === 'charge' ? dueMs : clock.nowMs())
      if (kind === 'autorenew') {
        const next_renew = new Date(dueMs)
        const renewal = { aid: 1, sid: 2, next_renew, cycles_remaining: 9, from: '2024-01-01' }
        await insertEntity(stores.catalog, 'autorenew', { _id: RENEWAL, ...renewal })
        // A run before the work is due, as of the runner of every process.
        await stores.catalog.jobs.updateOne({ kind }, { $set: { due: new Date(dueMs - 1) } })
      }
      before = async (what) => {
        if (what !== 'write installation') return
        const claimed = await claimElsewhere()
        // It has read its time before, and finds nothing to do.
        endsLater(claimed, () => (kind === 'charge' ? dueMs : clock.nowMs() + 10_000))
      }
      await move()
      expectRunWhenDue()
    },
  )
})

it('sessions that the recorder has swept delay no others, and are recorded', async () => {
  const { ledger } = stores
  const laterMs = dueMs + HOUR_MS + MINUTE_MS
  for (const aid of [1, 2]) await topUp(ledger, aid, aid, 1_000, `first-${aid}`)
  await holdUnits(ledger, 1, 1, 100, dueMs)
  await holdUnits(ledger, 2, 2, 100, laterMs)
  await begin('charge', dueMs)
  let backlog = -1
  before = async (what) => {
    if (what === 'write jobs') backlog = await streamBacklog(ledger)
    if (what !== 'write installation' || backlog !== -1) return
    backlog = 0
    const settings = { batchMax: 10, leaseMs: 5_000, replayMs: 1, token: 'recorder' }
    for (let partition = 0; partition < ledger.keys.partitions; partition += 1) {
      await sweepPartition(ledger, partition, settings, dueMs + 1)
    }
    expect(await streamBacklog(ledger)).toBeGreaterThan(0)
  }
  const { ran } = await move()
  expect(backlog).toBe(0)
  expect(ran.map(({ job, counts }) => [job, counts])).toEqual([['sessions', { expired: 1 }]])
  expect(Math.floor((Number(ran[0]?.at) - laterMs) / MINUTE_MS)).toBe(0)
})
