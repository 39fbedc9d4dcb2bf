/** `/api/clock` of a test clock: the time moves forward, and everything due between runs. */
import { beforeAll, describe, expect, it } from 'vitest'
import { LiveGatewayError } from '../../../src/admin/start.ts'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { advanceClock } from '../../../src/catalog/installation-clock.ts'
import { beginJob, type ClaimedJob, claimJob, jobsDue } from '../../../src/jobs/jobs.ts'
import { streamBacklog } from '../../../src/ledger/streams.ts'
import { offsetMs, raiseOffset } from '../../../src/runtime/clock.ts'
import { START_MS, useClockServer } from '../../support/admin/clock-server.ts'
import { postJson } from '../../support/post-json.ts'
import { holdUnits, loadOwner, topUp } from '../../support/recorder/accounts.ts'
import { waitUntil } from '../../support/wait.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
// The sweep of the recorder leaves the sessions to the moves.
const world = useClockServer({
  TOLLGATE_SWEEP_INTERVAL_MS: String(HOUR_MS),
  TOLLGATE_RETENTION_JOBS_DAYS: '5',
})

interface Ran {
  job: string
  subject: string
  at: string
  counts: Record<string, number>
}

const ranIn = (details: Record<string, unknown>) => details['ran'] as Ran[]
const iso = (ms: number) => new Date(ms).toISOString()

/** The message of a move that must be refused, and change nothing. */
async function refused(params: Record<string, unknown>): Promise<string | undefined> {
  const before = await world.stores().catalog.installation.findOne({ _id: 'clock' })
  const { http, status, message } = await world.post(params)
  expect([http, status]).toEqual([200, 0])
  expect(await world.stores().catalog.installation.findOne({ _id: 'clock' })).toEqual(before)
  return message
}

describe('the clock', () => {
  it('is shown with its distance to the real time', async () => {
    const { http, details } = await world.get()
    expect(http).toBe(200)
    expect(details).toMatchObject({ test: true, start: null })
    const now = Date.parse(String(details['now']))
    expect(now).toBeGreaterThanOrEqual(START_MS)
    expect(now).toBeLessThan(START_MS + HOUR_MS)
    expect(details['ahead_ms']).toBeLessThan(0)
  })

  it('refuses invalid requests by name', async () => {
    expect(await refused({})).toBe('to is missing')
    expect(await refused({ to: 'tomorrow' })).toBe(
      'to must be a time in ISO 8601, as in 2026-01-31T12:00:00Z',
    )
    expect(await refused({ to: 1_700_000_000 })).toContain('to must be a time')
    expect(await refused({ to: iso(START_MS), by: 1 })).toBe('by is not a parameter of clock')
    expect(await refused({ to: iso(START_MS - 1) })).toMatch(
      /^to is before 2024-01-10T1\d:\d\d:\d\d\.\d{3}Z: the clock never goes back$/,
    )
    expect(await refused({ to: iso(START_MS + 11 * 366 * DAY_MS) })).toBe(
      'to is more than 10 years ahead: move in several steps',
    )
    const put = await fetch(`${world.url}/api/clock`, { method: 'PUT' })
    expect([put.status, put.headers.get('allow')]).toEqual([405, 'GET, POST'])
  })
})

describe('a move', () => {
  beforeAll(async () => {
    const { ledger, catalog } = world.stores()
    for (const aid of [1, 2]) await topUp(ledger, aid, aid, 1_000, `first-${aid}`)
    await holdUnits(ledger, 1, 1, 100, START_MS + 2 * HOUR_MS)
    await holdUnits(ledger, 2, 2, 100, START_MS + 20 * DAY_MS)
    const done = { state: 'done', counts: {}, options: {}, error: '', token: '', holder: null }
    const at = new Date(START_MS)
    await catalog.jobs.insertOne({
      ...{ _id: new ObjectId(), kind: 'erase', subject: 'subscribers/9', step: 'done', ...done },
      ...{ due: at, expires: at, created: at, changed: at, ended: at },
      actor: { by: 'cli', id: '', name: '', address: '' },
    } as never)
  })

  it('runs what is due between in time order, each at its time', async () => {
    const toMs = START_MS + 31 * DAY_MS
    const { http, details } = await world.post({ to: iso(toMs) })
    expect(http).toBe(200)
    const ran = ranIn(details)
    expect(ran.map(({ job, subject, counts }) => ({ job, subject, counts }))).toEqual([
      { job: 'sessions', subject: '', counts: { expired: 1 } },
      { job: 'retention', subject: 'jobs', counts: { removed: 1 } },
      { job: 'sessions', subject: '', counts: { expired: 1 } },
    ])
    const [first, removal, second] = ran.map(({ at }) => Date.parse(at) - START_MS)
    const within = (ms: number | undefined, from: number, most: number) => {
      expect(ms).toBeGreaterThanOrEqual(from)
      expect(ms).toBeLessThan(from + most)
    }
    within(first, 2 * HOUR_MS, HOUR_MS)
    within(removal, 5 * DAY_MS, DAY_MS + HOUR_MS)
    within(second, 20 * DAY_MS, HOUR_MS)
    expect(await streamBacklog(world.stores().ledger)).toBe(0)
    expect(details['runs']).toMatchObject({ sessions: 2 })
    expect((details['runs'] as Record<string, number>)['retention']).toBeGreaterThanOrEqual(30)
    expect(world.clock.nowMs()).toBeGreaterThanOrEqual(toMs)
    for (const aid of [1, 2]) {
      const { buckets } = await loadOwner(world.stores().ledger, aid, aid)
      expect(buckets.map(({ free, reserved }) => [free, reserved])).toEqual([[1_000, 0]])
    }
  })

  it('is stored for the other processes, and audited', async () => {
    const { catalog } = world.stores()
    const stored = await catalog.installation.findOne({ _id: 'clock' })
    expect(stored?.ahead_ms).toBe((await world.get()).details['ahead_ms'])
    const audited = await catalog.audit.find({ collection: 'clock' }).toArray()
    expect(audited).toHaveLength(1)
    expect(audited[0]).toMatchObject({
      type: 'move',
      new: { now: new Date(START_MS + 31 * DAY_MS) },
    })
  })

  it('runs once at a time', async () => {
    const to = iso(world.clock.nowMs() + DAY_MS)
    const both = await Promise.all([world.post({ to }), world.post({ to })])
    expect(both.map(({ http }) => http).sort()).toEqual([200, 409])
    expect(both.find(({ http }) => http === 409)?.message).toBe('the clock is being moved')
  })
})

describe('a job that is under way', () => {
  const actor = { by: 'cli', id: '', name: '', address: '' } as const

  const stores = () => ({ catalog: world.stores().catalog, clock: world.clock })

  /** The runner of the server may be faster. */
  async function claimNew(): Promise<ClaimedJob> {
    for (let number = 0; ; number += 1) {
      const expected = { kind: 'charge', subject: `run ${number}`, options: { aids: [] } } as const
      const claimed = await claimJob(stores(), await beginJob(stores(), { ...expected, actor }))
      if (claimed !== null) return claimed
    }
  }

  it('stays with its process when the clock has been moved, and the next move waits', async () => {
    const claimed = await claimNew()
    const { ahead } = world.clock
    if (ahead === undefined) throw new Error('no clock of its own')
    // By a process that did not see the job.
    const aheadMs = offsetMs(ahead) + DAY_MS
    await advanceClock(world.stores().catalog, aheadMs)
    raiseOffset(ahead, aheadMs)
    const moved = world.post({ to: iso(world.clock.nowMs() + DAY_MS) })
    const due = (await jobsDue(stores())).map(({ _id }) => _id.toHexString())
    expect(due).not.toContain(claimed.job._id.toHexString())
    await expect(claimed.saveProgress('still claimed')).resolves.toBeUndefined()
    await claimed.end(null)
    expect((await moved).http).toBe(200)
  })
})

describe('beside a gateway of production', () => {
  const set = async (data: unknown) => {
    const sent = { action: 'set', category: 'payment_gateways', data }
    const answer = await postJson(`${world.url}/api/settings`, sent)
    expect(await answer.json()).toMatchObject({ status: 1 })
  }
  const stripe = (api_key: string) => [{ name: 'stripe', params: { api_key, currency: 'eur' } }]

  it('is refused to move and to start, by the name of the gateway', async () => {
    await set(stripe('sk_live_PLANTED'))
    let message: string | undefined
    await waitUntil('the setting is read', async () => {
      message = (await world.post({ to: iso(world.clock.nowMs() + 1_000) })).message
      return message !== undefined
    })
    expect(message).toBe(
      'payment gateway stripe has a key of production: remove it to move the clock',
    )
    const started = await world.start().catch((error: unknown) => error)
    expect(started).toBeInstanceOf(LiveGatewayError)
    expect(String(started)).not.toContain('PLANTED')
  })

  it('moves with a key of the test mode', async () => {
    await set(stripe('sk_test_PLANTED'))
    await waitUntil('the setting is read', async () => {
      const { status } = await world.post({ to: iso(world.clock.nowMs() + 1_000) })
      return status === 1
    })
  })
})
