/** A mass expiry while the product charges, swept by two processes (SWEEP_SESSIONS: how many). */
import { MongoClient } from 'mongodb'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  type Abandoned,
  MIB_PRICE,
  openAbandoned,
  sessionIdOf,
  USED,
  usedOf,
} from '../../bench/abandoned.ts'
import { sessionKeyOf } from '../../src/ledger/keys.ts'
import { openSessions, streamBacklog } from '../../src/ledger/streams.ts'
import { systemClock } from '../../src/runtime/clock.ts'
import { populate } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { AUDITED, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { audit } from '../support/system/auditor.ts'
import { type LedgerReader, openLedgerReader, post } from '../support/system/exchange.ts'
import type { SessionTruth } from '../support/system/expected-sessions.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const SESSIONS = Number(process.env['SWEEP_SESSIONS'] ?? 100_000)
/** Time to write the sessions; those that are written later are due immediately. */
const LIFE_MS = 5_000
const PATIENCE_MS = 180_000

let product: Product
let reader: LedgerReader
let accounts: Abandoned[] = []
let truths: SessionTruth[] = []

beforeAll(async () => {
  product = await startProduct({ environment: FAST_EXPIRY })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  reader = await openLedgerReader(product.redisUrl)
  // The admin process has a recorder of its own.
  for (const role of ['realtime', 'admin', 'recorder'] as const) await product.start(role)
})
afterAll(async () => {
  await reader?.close()
  await product?.stop()
})

/** The sum of a metric over all processes, of samples with this label if given. */
async function metricSum(name: string, label = ''): Promise<number> {
  const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
  const own = text.split('\n').filter((line) => line.startsWith(`${name}{`) && line.includes(label))
  return own.reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0)
}

/** Roles that report a metric above 0. */
async function rolesWith(name: string): Promise<string[]> {
  const text = await (await fetch(`${product.adminUrl}/metrics`)).text()
  const own = text.split('\n').filter((line) => line.startsWith(`${name}{`))
  return own.flatMap((line) => {
    const role = /role="(\w+)"/.exec(line)?.[1]
    return Number(line.split(' ').at(-1)) > 0 && role !== undefined ? [role] : []
  })
}

async function linesOf<T>(work: (lines: ReturnType<typeof linesIn>) => Promise<T>): Promise<T> {
  const mongo = new MongoClient(product.mongoUrl)
  try {
    return await work(linesIn(mongo))
  } finally {
    await mongo.close()
  }
}

function linesIn(mongo: MongoClient) {
  return mongo.db(product.database).collection('lines')
}

/** Expired sessions of the workload; a session released after expiry is closed by now. */
async function expiredOfWorkload(): Promise<number> {
  const marked = await linesOf((lines) =>
    lines.distinct('session_id', { late: true, session_id: /^audit-/ }),
  )
  const late = new Set<string>(marked)
  let expired = 0
  for (let from = 0; from < truths.length; from += 200) {
    const part = truths.slice(from, from + 200)
    const owners = await reader.ledger.load(
      part.map(({ aid, sid, sessionId }) => {
        return { aid, sid, sessionKeys: [sessionKeyOf('http', sessionId)] }
      }),
    )
    for (const [index, owner] of owners.entries()) {
      if (owner instanceof Error) throw owner
      const state = owner.sessions[0]?.state
      const wasLate = late.has(part[index]?.sessionId ?? '')
      if (state === 'expired' || (state === 'closed' && wasLate)) expired += 1
    }
  }
  return expired
}

describe(`${SESSIONS} sessions that expire at the same time under load, seed ${seed}`, () => {
  it('are swept by two processes, and charging continues', async () => {
    let isSweeping = true
    const workload = runWorkload({
      seed,
      port: product.realtimePort,
      sessions: 100,
      clients: 3,
      ...AUDITED,
      patienceMs: 60_000,
      goesOn: () => isSweeping,
    })
    const swept = (async () => {
      const nowMs = systemClock.nowMs()
      accounts = await openAbandoned(reader.ledger, SESSIONS, nowMs, nowMs + LIFE_MS)
      const isOver = async () =>
        (await metricSum('tollgate_sessions_expired_total')) >= SESSIONS &&
        (await openSessions(reader.ledger)) < 100
      await waitUntil('the sessions expire', isOver, PATIENCE_MS)
    })().finally(() => {
      isSweeping = false
    })
    ;[truths] = await Promise.all([workload, swept])
    expect(await metricSum('tollgate_requests_total', 'outcome="granted"')).toBeGreaterThan(100)
    expect(await metricSum('tollgate_requests_total', 'outcome="failed"')).toBe(0)
  })

  it('leave nothing reserved, and are charged once', async () => {
    const noneOpen = async () => (await openSessions(reader.ledger)) === 0
    await waitUntil('the sessions of the workload expire', noneOpen)
    for (let from = 0; from < accounts.length; from += 200) {
      const part = accounts.slice(from, from + 200)
      const owners = await reader.ledger.load(part.map((one) => ({ ...one, sessionKeys: [] })))
      for (const [index, owner] of owners.entries()) {
        if (owner instanceof Error) throw owner
        const [bucket] = owner.state.buckets
        const spent = usedOf(part[index]?.sessions ?? 0) * MIB_PRICE
        expect(bucket).toMatchObject({ reserved: 0, spent })
        expect(bucket?.free).toBe((bucket?.credited ?? 0) - spent)
      }
    }
  })

  it('are counted once, by either process', async () => {
    const expected = SESSIONS + (await expiredOfWorkload())
    const counted = () => metricSum('tollgate_sessions_expired_total')
    await waitUntil('the metrics are published', async () => (await counted()) >= expected)
    expect(await counted()).toBe(expected)
    expect(await rolesWith('tollgate_sessions_expired_total')).toEqual(['admin', 'recorder'])
  })

  it('with usage have one line each, which is marked as expired', async () => {
    const drained = async () => (await streamBacklog(reader.ledger)) === 0
    await waitUntil('the recorders catch up', drained, PATIENCE_MS)
    const expired = { session_id: /^abandoned-/, state: 'expired', usagev: USED, v: 2, late: false }
    await linesOf(async (lines) => {
      const used = usedOf(SESSIONS)
      expect(await lines.countDocuments({ session_id: /^abandoned-/ })).toBe(used)
      expect(await lines.countDocuments(expired)).toBe(used)
      expect(await lines.distinct('session_id', expired)).toHaveLength(used)
    })
  })

  it('accept usage reported after expiry, on their existing line', async () => {
    const session_id = sessionIdOf(0)
    const report = {
      record_type: 'update_request',
      session_id,
      request_num: 2,
      rating_group: 10,
      usaget: 'data',
      used_usagev: USED,
      usagev: USED,
    }
    const answer = await post(product.realtimePort, report)
    const nothing = { grantedVolume: 0, finalUnit: true }
    expect(answer).toMatchObject({ status: 200, returnCode: 1, ...nothing })
    expect((await post(product.realtimePort, report)).text).toBe(answer.text)
    const drained = async () => (await streamBacklog(reader.ledger)) === 0
    await waitUntil('the line is recorded', drained)
    const found = await linesOf((lines) => lines.find({ session_id }).toArray())
    // The interval started by the first half is already charged.
    const aprice_micros = MIB_PRICE
    expect(found).toMatchObject([{ v: 3, usagev: 2 * USED, aprice_micros, late: true }])
  })

  it('leave a ledger that agrees with the lines', async () => {
    expect(await audit(product, AUDITED, truths)).toEqual([])
  })
})
