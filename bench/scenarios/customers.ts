/**
 * The same closed loop with the subscribers of the node and with those of a customer system, all of
 * them cached, in turns on one product whose settings change. The customer system answers, or is
 * down while unknown subscribers send requests as well. Then 1,000 unknown subscribers at once.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import type { CustomerQuery } from '../../src/external/customers/queries.ts'
import { aidOf, FIRST_SID, withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import type { Generator } from '../generator/generator.ts'
import { warmSubscribers } from '../load.ts'
import { type Ceiling, measureEcho } from '../measure/ceilings.ts'
import { median, round, type Window } from '../measure/load.ts'
import { loadTable, measureClosed, middle, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario, ScenarioResult } from '../scenario.ts'

const ROUNDS = 3
/** Part of the rate of local subscribers that cached external ones must reach. */
const SHARE_MIN = 0.95
/** Longer than the run, so that the windows measure the cache only. */
const TTL_SECONDS = 3_600
/** Subscribers that no worker knows, and the calls for all of them together. */
const UNKNOWN = 1_000
const CALLS_MAX = 50
/** Not of the population. */
const UNKNOWN_SID = 900_000_001
const UNKNOWN_PAUSE_MS = 20

export const customersScenario: Scenario = {
  name: 'customers',
  what: 'subscribers of a customer system, all cached, compared with those of the node',
  async run(bench) {
    const environment = {
      TOLLGATE_RECORDER_ENABLED: 'false',
      TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
    }
    const product = await bench.product({ environment })
    const crm = await startCrm()
    try {
      return await withGenerator(async (generator) => {
        const windows = await measureWindows(bench, product, crm, generator)
        const { calls, queries } = crm
        await askUnknown(product)
        const unknown = { calls: crm.calls - calls, queries: crm.queries - queries }
        const echo = await measureEcho(bench, generator)
        return resultOf(windows, { calls, queries }, unknown, echo)
      })
    } finally {
      crm.server.close()
    }
  },
}

interface Windows {
  readonly local: Window[]
  readonly external: Window[]
  readonly down: Window[]
}

/** Ends with the subscribers of a customer system that answers. */
async function measureWindows(
  bench: Bench,
  product: Product,
  crm: Crm,
  generator: Generator,
): Promise<Windows> {
  const windows: Windows = { local: [], external: [], down: [] }
  const closed = () => measureClosed(bench, product, generator, 'json')
  for (let round = 0; round < (bench.settings.short ? 1 : ROUNDS); round += 1) {
    await switchTo(bench, product, crm, false)
    windows.local.push(await closed())
    await switchTo(bench, product, crm, true)
    windows.external.push(await closed())
    windows.down.push(await whileDown(product, crm, closed))
  }
  // Other settings close the circuit.
  await switchTo(bench, product, crm, false)
  await switchTo(bench, product, crm, true)
  return windows
}

type Asked = Pick<Crm, 'calls' | 'queries'>

function resultOf(
  { local, external, down }: Windows,
  { calls, queries }: Asked,
  unknown: Asked,
  echo: Ceiling,
): ScenarioResult {
  const share = shareOf(external, local)
  const downShare = shareOf(down, external)
  const least = { atLeast: SHARE_MIN }
  const burst = `calls for ${UNKNOWN} unknown subscribers at once`
  return {
    figures: {
      per_second_local: Math.round(middle(local).perSecond),
      per_second_external: Math.round(middle(external).perSecond),
      per_second_down: Math.round(middle(down).perSecond),
      calls,
      queries,
      unknown_calls: unknown.calls,
      unknown_queries: unknown.queries,
      echo_per_second: Math.round(echo.perSecond),
    },
    ratios: { external_to_local: share, down_to_external: downShare },
    goals: [
      { what: 'external / local', is: round(share, 3), wanted: least },
      { what: 'down / external', is: round(downShare, 3), wanted: least },
      { what: burst, is: unknown.calls, wanted: { atMost: CALLS_MAX } },
    ],
    tables: [
      loadTable('Subscribers', [
        ['of the node', middle(local)],
        ['of a customer system', middle(external)],
        ['of a customer system that is down', middle(down)],
      ]),
    ],
    notes: [
      `before the windows the customer system answered ${queries} queries in ${calls} calls`,
      `for ${UNKNOWN} unknown subscribers at once ${unknown.queries} in ${unknown.calls}`,
      ...otherAnswers(...local, ...external, ...down),
    ],
  }
}

/** Median of the rates by round, compared with those of other windows. */
function shareOf(windows: readonly Window[], others: readonly Window[]): number {
  return median(windows.map(({ perSecond }, at) => perSecond / rateAt(others, at)))
}

function rateAt(windows: readonly Window[], at: number): number {
  return windows[at]?.perSecond ?? Number.NaN
}

/** Changes the settings, and waits until the profiles of all subscribers are cached again. */
async function switchTo(
  { settings }: Bench,
  product: Product,
  crm: Crm,
  isExternal: boolean,
): Promise<void> {
  const url = `http://127.0.0.1:${crm.port}/subscribers`
  const subscriber = {
    type: 'external',
    external_url: url,
    external_cache_ttl: TTL_SECONDS,
  }
  await withCatalog(product, (catalog) =>
    writeStoredConfig(catalog, 'subscribers', () => (isExternal ? { subscriber } : {}), {
      nowMs: Date.now(),
      by: 'bench',
    }),
  )
  await waitUntil('the workers have changed', async () => {
    const metrics = await (await fetch(`${product.adminUrl}/metrics`)).text()
    return metrics.includes('tollgate_customer_circuit{') === isExternal
  })
  await warmSubscribers(product.realtimePort, settings.subscribers)
}

/** It ends connections; some 50 requests per second are those of unknown subscribers. */
async function whileDown(
  { realtimePort }: Product,
  crm: Crm,
  measure: () => Promise<Window>,
): Promise<Window> {
  crm.isDown = true
  let isMeasured = false
  const asking = async () => {
    for (let first = UNKNOWN_SID; !isMeasured; first += 1) {
      await warmSubscribers(realtimePort, 1, { first, atOnce: 1 })
      await pause(UNKNOWN_PAUSE_MS)
    }
  }
  const asked = asking()
  const window = await measure()
  isMeasured = true
  await asked
  crm.isDown = false
  return window
}

/** Each on a connection of its own. */
function askUnknown({ realtimePort }: Product): Promise<void> {
  return warmSubscribers(realtimePort, UNKNOWN, { first: UNKNOWN_SID, atOnce: UNKNOWN })
}

interface Crm {
  readonly server: Server
  readonly port: number
  calls: number
  queries: number
  isDown: boolean
}

/** Knows every subscriber of the population, with the plan that it has in MongoDB. */
async function startCrm(): Promise<Crm> {
  const server = createServer(async (request, response) => {
    if (crm.isDown) {
      request.socket.destroy()
      return
    }
    let body = ''
    for await (const chunk of request.setEncoding('utf8')) body += chunk
    const { query } = JSON.parse(body) as { query: CustomerQuery[] }
    crm.calls += 1
    crm.queries += query.length
    const answer = query.map(({ id, params: [param] }) => revision(id, Number(param?.value)))
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answer))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const crm: Crm = { server, port, calls: 0, queries: 0, isDown: false }
  return crm
}

function revision(id: string, sid: number) {
  const period = { from: '2020-01-01 00:00:00', to: '2169-01-01 00:00:00' }
  const plan = { plan: 'DEMO_PREPAID', plan_activation: '2020-01-01 00:00:00' }
  return { id, sid, aid: aidOf(sid - FIRST_SID, 1), ...plan, ...period }
}
