/**
 * The product under the audited workload for SOAK_MINUTES, audited in windows. In any run, ledger
 * and lines must agree and descriptors return to their number; flat memory requires a long run.
 */
// covers: src/ledger/release.ts src/recorder/ src/realtime/pool.ts src/workers/owner-cache.ts
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { populate, topUp } from '../support/product/population.ts'
import { type Product, startProduct } from '../support/product/product.ts'
import { audited, CREDITS, FAST_EXPIRY, seedOf } from '../support/system/audited.ts'
import { Auditor } from '../support/system/auditor.ts'
import {
  liveMib,
  MEASURES_LIVE,
  type Part,
  Sampler,
  type Trend,
  tableOf,
  trendsOf,
} from '../support/system/sampler.ts'
import { runWorkload } from '../support/system/workload.ts'
import { waitUntil } from '../support/wait.ts'

const seed = seedOf()
const MINUTES = Number(process.env['SOAK_MINUTES'] ?? 0.3)
const RUN_MS = MINUTES * 60_000
const WINDOW_MS = Math.min(60_000, RUN_MS / 2)
const SAMPLE_MS = Math.min(5_000, RUN_MS / 40)
const CLIENTS = 24
/** With the duration of a session some hundred sessions per second: a load, but no overload. */
const PAUSE_MS_MAX = 300
/** First credits granted in each window, roughly what is used. */
const CREDITS_PER_WINDOW = 4
const THOUSANDS_PER_MINUTE = 6
const AUDITED = audited(MINUTES * THOUSANDS_PER_MINUTE)

/** In shorter runs the heaps have not yet reached their size. */
const FLAT_MINUTES_MIN = 5
/** The last quarter may exceed the second by this factor and this many MiB. */
const GROWTH_MAX = 1.1
const GROWTH_MIB_MAX = 8
const FLAT = ['mongo anon MiB', 'redis used MiB']
/** Their memory is measured after a collection of garbage, at the end of each window. */
const LIVE = ['realtime', 'admin'] as const
/** Drivers open and close some connections on their own. */
const FILES_MORE_MAX = 8

/** Short retention, so that a run reaches a steady state. */
const SHORT_RETENTION = {
  TOLLGATE_LEDGER_REPLAY_MS: '10000',
  TOLLGATE_LEDGER_DIRECTORY_TTL_MS: '60000',
}
/** An external MongoDB has no process here. */
const PARTS: readonly Part[] = [
  ...(['realtime', 'admin', 'redis'] as const),
  ...(process.env['TEST_MONGO_URL'] === undefined ? (['mongo'] as const) : []),
]

let product: Product
let auditor: Auditor
let sampler: Sampler

beforeAll(async () => {
  const environment = { ...FAST_EXPIRY, ...SHORT_RETENTION, NODE_OPTIONS: MEASURES_LIVE }
  product = await startProduct({ environment })
  await populate({ ...product, ...AUDITED, credits: CREDITS })
  auditor = new Auditor(product, AUDITED)
  await product.start('realtime')
  await product.start('admin')
  sampler = await Sampler.open(product, PARTS)
})
afterAll(async () => {
  await sampler?.close()
  await product?.stop()
})

/**
 * Load for the time of a window, with a top-up in its middle; then an audit. Returns the number of
 * opened sessions.
 */
async function runWindow(number: number): Promise<number> {
  const untilMs = performance.now() + WINDOW_MS
  const workload = runWorkload({
    seed: seed + number,
    port: product.realtimePort,
    sessions: 1,
    clients: CLIENTS,
    ...AUDITED,
    patienceMs: 30_000,
    pauseMsMax: PAUSE_MS_MAX,
    goesOn: () => performance.now() < untilMs,
  })
  const credits = CREDITS.map((one) => ({ ...one, amount: one.amount * CREDITS_PER_WINDOW }))
  const given = pause(WINDOW_MS / 2).then(() =>
    topUp({ ...product, ...AUDITED, credits }, `window-${number}`),
  )
  const [sessions, operations] = await Promise.all([workload, given])
  auditor.credited(operations)
  expect(await auditor.audit(sessions), `window ${number}`).toEqual([])
  return sessions.filter((one) => one.opened).length
}

/** Takes samples until `isOver`. */
async function keepSampling(isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    await sampler.sample()
    await pause(SAMPLE_MS)
  }
}

/** Live memory of each role after each window, as a trend. */
function liveTrends(live: readonly (readonly number[])[]): Trend[] {
  return trendsOf(
    live.map((window) => {
      return Object.fromEntries(LIVE.map((role, at) => [`${role} live MiB`, window[at] ?? 0]))
    }),
  )
}

function isFlat({ quarters: [, second = 0, , last = 0] }: Trend): boolean {
  return last <= second * GROWTH_MAX + GROWTH_MIB_MAX
}

interface Windows {
  /** Sessions of each. */
  opened: number[]
  /** Descriptors after the first. */
  files: Record<string, number>
  /** Live memory after each, in the order of `LIVE`. */
  live: number[][]
}

/** Consecutive windows with samples. */
async function runWindows(): Promise<Windows> {
  const opened: number[] = []
  const live: number[][] = []
  let files: Record<string, number> = {}
  let isOver = false
  const untilMs = performance.now() + RUN_MS
  const windows = async () => {
    while (performance.now() < untilMs && !isOver) {
      opened.push(await runWindow(opened.length + 1))
      live.push(await Promise.all(LIVE.map((role) => liveMib(product, role))))
      // Connections are made on first use.
      if (opened.length === 1) files = sampler.files()
    }
  }
  const end = () => {
    isOver = true
  }
  await Promise.all([windows().finally(end), keepSampling(() => isOver).finally(end)])
  return { opened, files, live }
}

async function expectFilesBack(before: Record<string, number>): Promise<void> {
  const more = () =>
    Object.entries(sampler.files()).filter(
      ([part, count]) => count > (before[part] ?? 0) + FILES_MORE_MAX,
    )
  await waitUntil(`descriptors come back: ${JSON.stringify(before)}`, () => more().length === 0)
}

describe(`a soak of ${MINUTES} minutes, seed ${seed}`, () => {
  it(
    'ledger and lines agree throughout, descriptors come back, memory is flat in a long run',
    async () => {
      const { opened, files, live } = await runWindows()
      expect(await auditor.auditWhole()).toEqual([])
      const trends = [...trendsOf(sampler.samples), ...liveTrends(live)]
      process.stdout.write(`sessions by window: ${opened.join(' ')}\n${tableOf(trends)}\n`)
      expect(Math.min(...opened)).toBeGreaterThan(CLIENTS)
      await expectFilesBack(files)
      if (MINUTES < FLAT_MINUTES_MIN) return
      const flat = [...FLAT, ...LIVE.map((role) => `${role} live MiB`)]
      expect(
        trends.filter(({ name }) => flat.includes(name)).filter((one) => !isFlat(one)),
      ).toEqual([])
    },
    2 * RUN_MS + 300_000,
  )
})
