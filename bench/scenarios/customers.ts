/**
 * The same closed loop with the subscribers of the node and with those of a customer system, all of
 * them cached, in turns on one product whose settings change.
 */
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import type { CustomerQuery } from '../../src/external/customers/queries.ts'
import { aidOf, FIRST_SID, withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { warmSubscribers } from '../load.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { median, round, type Window } from '../measure/load.ts'
import { loadTable, measureClosed, middle, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario } from '../scenario.ts'

const ROUNDS = 3
/** Part of the rate of local subscribers that cached external ones must reach. */
const SHARE_MIN = 0.95
/** Longer than the run, so that the windows measure the cache only. */
const TTL_SECONDS = 3_600

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
        const local: Window[] = []
        const external: Window[] = []
        const closed = () => measureClosed(bench, product, generator, 'json')
        while (local.length < (bench.settings.short ? 1 : ROUNDS)) {
          await switchTo(bench, product, crm, false)
          local.push(await closed())
          await switchTo(bench, product, crm, true)
          external.push(await closed())
        }
        const echo = await measureEcho(bench, generator)
        const share = median(external.map(({ perSecond }, at) => perSecond / rateAt(local, at)))
        const all = [...local, ...external]
        return {
          figures: {
            per_second_local: Math.round(middle(local).perSecond),
            per_second_external: Math.round(middle(external).perSecond),
            calls: crm.calls,
            queries: crm.queries,
            echo_per_second: Math.round(echo.perSecond),
          },
          ratios: { external_to_local: share },
          goals: [
            { what: 'external / local', is: round(share, 3), wanted: { atLeast: SHARE_MIN } },
          ],
          tables: [
            loadTable('Subscribers', [
              ['of the node', middle(local)],
              ['of a customer system', middle(external)],
            ]),
          ],
          notes: [
            `the customer system answered ${crm.queries} queries in ${crm.calls} calls`,
            ...otherAnswers(...all),
          ],
        }
      })
    } finally {
      crm.server.close()
    }
  },
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

interface Crm {
  readonly server: Server
  readonly port: number
  calls: number
  queries: number
}

/** Knows every subscriber of the population, with the plan that it has in MongoDB. */
async function startCrm(): Promise<Crm> {
  const server = createServer(async (request, response) => {
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
  const crm: Crm = { server, port, calls: 0, queries: 0 }
  return crm
}

function revision(id: string, sid: number) {
  const period = { from: '2020-01-01 00:00:00', to: '2169-01-01 00:00:00' }
  const plan = { plan: 'DEMO_PREPAID', plan_activation: '2020-01-01 00:00:00' }
  return { id, sid, aid: aidOf(sid - FIRST_SID, 1), ...plan, ...period }
}
