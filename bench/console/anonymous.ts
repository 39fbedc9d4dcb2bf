/**
 * Health, metrics and a call of an operator while clients without a session attack the control
 * plane: one costly route after the other, each after a quiet phase. Every attacker has an address,
 * and so a share of processor time, of its own.
 */
import { once } from 'node:events'
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { Agent, type Dispatcher } from 'undici'
import { addUser, READER_NAME } from '../../test/support/console/console-product.ts'
import { logIn } from '../../test/support/console/customer-scene.ts'
import { withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { Histogram, histogramOf } from '../generator/histogram.ts'
import { millis, round } from '../measure/load.ts'
import { loopDelays } from '../measure/loop-delays.ts'
import { cpuOf } from '../measure/threads.ts'
import { optionsFor } from '../preload/preloads.ts'
import type { Bench, Scenario, ScenarioResult } from '../scenario.ts'
import type { Attack, AttackAnswers } from './attackers.ts'

const ATTACKERS = 12
const P99_MAX_MS = 50
/** Less than it takes to use up a share, so that few requests are refused. */
const PHASE_MS = 2_000
/** Long enough to use up the share of every address. */
const EXHAUSTING_MS = 8_000
const PROBE_EVERY_MS = 10
const TOO_MANY = 429

const PROBES = {
  '/health/live': 'health/live',
  '/health/ready': 'health/ready',
  '/metrics': 'metrics',
  'plans/get': 'billapi/plans/get',
} as const
type Probe = keyof typeof PROBES
const NAMES = Object.keys(PROBES) as Probe[]

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }
const post = (path: string, headers: Record<string, string>, body: string) =>
  ({ path, method: 'POST', headers, body }) as const
const get = (path: string) => ({ path, method: 'GET' }) as const
const numbers = (bytes: number) => `{"a":[${'1,'.repeat(bytes / 2)}1]}`
const signed = (body: string) => {
  const time = Math.floor(Date.now() / 1000)
  return `${body.slice(0, -1)},"_t_":"${time}","_sig_":"${'a'.repeat(128)}"}`
}

const SMALL = 60_000
const LARGE = 1_000_000
const ROUTES: readonly (readonly [name: string, request: () => Attack['request']])[] = [
  ['GET /openapi.json', () => get('/openapi.json')],
  ['GET /docs', () => get('/docs')],
  ['GET / (console)', () => get('/')],
  ['GET of an unknown path', () => get(`/${'a/'.repeat(4_000)}`)],
  ['GET /auth/options', () => get('/auth/options')],
  ['POST /auth/login', () => post('/auth/login', FORM, 'username=nobody&password=wrong')],
  [
    'POST /oauth2/token',
    () => post('/oauth2/token', FORM, 'grant_type=client_credentials&client_id=a&client_secret=b'),
  ],
  ['GET /paymentgateways/sandbox', () => get(`/paymentgateways/sandbox/${'a'.repeat(32)}`)],
  ['GET /paymentgateways/OkPage', () => get('/paymentgateways/OkPage?name=sandbox&ref=a')],
  ['POST /paymentgateways/notify', () => post('/paymentgateways/notify/a', {}, 'a'.repeat(SMALL))],
  ['POST /api/credit, 60 KB', () => post('/api/credit', JSON_TYPE, numbers(SMALL))],
  ['the same, signed', () => post('/api/credit', JSON_TYPE, signed(numbers(SMALL)))],
  ['POST /api/cards, 1 MB', () => post('/api/cards', JSON_TYPE, numbers(LARGE))],
  ['POST /billapi/plans/create', () => post('/billapi/plans/create', FORM, 'a=1&'.repeat(9_000))],
]

interface Measured {
  readonly name: string
  readonly latencies: Readonly<Record<Probe, Histogram>>
  readonly answers: AttackAnswers
  readonly seconds: number
  /** µs of processor time of the admin process. */
  readonly cpu: number
  readonly loopMs: number
}

export const anonymousScenario: Scenario = {
  name: 'console-anonymous',
  what: `health, metrics and an operator beside ${ATTACKERS} attackers without a session`,
  async run(bench) {
    const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-loop-'))
    try {
      const environment = {
        TOLLGATE_ADMIN_OPEN_TO: 'nobody',
        TOLLGATE_ADMIN_OPEN_PATHS: 'health,metrics,heartbeat,docs',
        TOLLGATE_RECORDER_ENABLED: 'false',
        NODE_OPTIONS: optionsFor('loop-delay'),
        BENCH_LOOP_DIR: folder,
        BENCH_LOOP_ROLE: 'admin',
      }
      const product = await bench.product({ environment })
      await withCatalog(product, (catalog) => addUser(catalog, READER_NAME, ['read']))
      const cookie = await logIn(product.adminUrl, READER_NAME)
      return await measureRoutes(bench, { product, folder, cookie })
    } finally {
      await bench.endProduct()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

interface Attacked {
  readonly product: Product
  readonly folder: string
  readonly cookie: string
}

async function measureRoutes(bench: Bench, attacked: Attacked): Promise<ScenarioResult> {
  const quiet: Measured[] = []
  const under: Measured[] = []
  const agent = new Agent({ connections: 1 })
  const probe = (name: string, run: () => Promise<unknown>) => measure(attacked, agent, name, run)
  const wait = () => pause(PHASE_MS)
  await probe('warm-up', wait)
  for (const [at, [name, request]] of ROUTES.entries()) {
    quiet.push(await probe('nothing', wait))
    const attack = {
      origin: attacked.product.adminUrl,
      addresses: addressesOf(at),
      request: request(),
    }
    under.push(await probe(name, () => attackFor(attack, PHASE_MS)))
    bench.say(`  ${rowOf(under.at(-1) as Measured).join('  ')}`)
  }
  // The last attackers go on until they are refused.
  const [, request] = ROUTES.at(-1) as (typeof ROUTES)[number]
  const attack = {
    origin: attacked.product.adminUrl,
    addresses: addressesOf(ROUTES.length - 1),
    request: request(),
  }
  await attackFor(attack, EXHAUSTING_MS)
  const beyond = await probe('beyond the share', () => attackFor(attack, PHASE_MS))
  await agent.destroy()
  return resultOf(quiet, [...under, beyond])
}

const addressesOf = (route: number) =>
  Array.from({ length: ATTACKERS }, (_, index) => `127.1.${route}.${index + 1}`)

async function attackFor(attack: Attack, ms: number): Promise<AttackAnswers> {
  const worker = new Worker(new URL('./attackers.js', import.meta.url), { workerData: attack })
  await once(worker, 'message')
  await pause(ms)
  worker.postMessage('stop')
  const [answers] = (await once(worker, 'message')) as [AttackAnswers]
  await worker.terminate()
  return answers
}

/** Sends all probes in turn until `run` has ended. */
async function measure(
  { product, folder, cookie }: Attacked,
  agent: Dispatcher,
  name: string,
  run: () => Promise<unknown>,
): Promise<Measured> {
  const latencies = Object.fromEntries(
    NAMES.map((each) => [each, new Histogram()]),
  ) as Measured['latencies']
  const begun = { cpu: cpuOf(product.pid('admin')), atMs: Date.now() }
  let isOver = false
  const running = run().finally(() => {
    isOver = true
  })
  while (!isOver) {
    for (const each of NAMES) {
      const beganMs = performance.now()
      const path = `/${PROBES[each]}`
      const { statusCode, body } = await agent.request({
        origin: product.adminUrl,
        path,
        method: 'GET',
        headers: { cookie },
      })
      await body.dump({ limit: Number.MAX_SAFE_INTEGER })
      latencies[each].record((performance.now() - beganMs) * 1000)
      if (statusCode !== 200) throw new Error(`${path}: HTTP ${statusCode}`)
    }
    await pause(PROBE_EVERY_MS)
  }
  const answers = ((await running) ?? {}) as AttackAnswers
  const endedMs = Date.now()
  return {
    name,
    latencies,
    answers,
    seconds: (endedMs - begun.atMs) / 1000,
    cpu: cpuOf(product.pid('admin')) - begun.cpu,
    loopMs: loopDelays(folder, begun.atMs, endedMs).main,
  }
}

function rowOf({ name, latencies, answers, seconds, cpu, loopMs }: Measured): (string | number)[] {
  const count = Object.values(answers).reduce((sum, each) => sum + each, 0)
  const refused = (answers[TOO_MANY] ?? 0) / Math.max(1, count)
  return [
    name,
    Math.round(count / seconds),
    Object.keys(answers).join(', '),
    Math.round(refused * 100),
    count === 0 ? 0 : round(cpu / 1000 / count, 2),
    round(loopMs, 1),
    ...NAMES.flatMap((each) => [millis(latencies[each], 0.5), millis(latencies[each], 0.99)]),
  ]
}

function merged(name: string, all: readonly Measured[]): Measured {
  const latencies = Object.fromEntries(
    NAMES.map((each) => {
      return [each, histogramOf(...all.map((one) => one.latencies[each].pack()))]
    }),
  ) as Measured['latencies']
  const total = (of: (one: Measured) => number) => all.reduce((sum, one) => sum + of(one), 0)
  return {
    name,
    latencies,
    answers: {},
    seconds: total(({ seconds }) => seconds),
    cpu: total(({ cpu }) => cpu),
    loopMs: Math.max(...all.map(({ loopMs }) => loopMs)),
  }
}

function resultOf(quietPhases: readonly Measured[], under: readonly Measured[]): ScenarioResult {
  const quiet = merged('nothing', quietPhases)
  const all = merged('all attacks', under)
  const p99 = ({ latencies }: Measured, probe: Probe) => millis(latencies[probe], 0.99)
  const worst = (probe: Probe) => Math.max(...under.map((one) => p99(one, probe)))
  const ratioOf = (probe: Probe) => p99(quiet, probe) / Math.max(0.01, p99(all, probe))
  // Other load of the machine delays the loop by as much without any attack.
  const isVoid = quiet.loopMs > P99_MAX_MS
  const keyOf = (probe: Probe) => probe.replace(/^\//, '').replace('/', '_')
  return {
    figures: Object.fromEntries(NAMES.map((probe) => [`${keyOf(probe)}_p99_ms`, p99(all, probe)])),
    ratios: Object.fromEntries(
      NAMES.map((probe) => [`${keyOf(probe)}_quiet_to_attack`, ratioOf(probe)]),
    ),
    goals: NAMES.filter((probe) => probe !== 'plans/get').map((probe) => ({
      what: `p99 of ${probe} beside the worst attack, ms`,
      is: worst(probe),
      wanted: { atMost: P99_MAX_MS },
      isVoid,
    })),
    tables: [
      {
        title: `Answers of the control plane beside ${ATTACKERS} attackers without a session`,
        columns: [
          'beside',
          'attacks/s',
          'status',
          '429 %',
          'admin ms for each',
          'loop delay ms',
          ...NAMES.flatMap((probe) => [`${probe} p50 ms`, 'p99 ms']),
        ],
        rows: [quiet, ...under, all].map(rowOf),
      },
    ],
    notes: [
      'the attackers and the probes are on the same cores; the loop delay is the longest of the ' +
        'admin process, with what else runs on the cores',
      'admin ms for each: processor time of all threads of the admin process, with the probes, ' +
        'by answers to attackers',
      ...(isVoid ? ['the loop was as late in quiet phases: the goals are VOID'] : []),
    ],
  }
}
