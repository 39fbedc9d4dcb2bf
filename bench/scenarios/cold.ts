/** First contact with subscribers: a node with empty caches, and the same node afterwards. */
import { performance } from 'node:perf_hooks'
import { Client } from '../../test/support/product/charge-client.ts'
import { FIRST_SID } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { round } from '../measure/load.ts'
import type { Bench, Scenario, Table } from '../scenario.ts'

const SUBSCRIBERS = 2_000
const CONNECTIONS = 128
const GRANTED = '"returnCode":1,'

interface Pass {
  name: string
  perSecond: number
  p50: number
  p99: number
  granted: number
}

export const coldScenario: Scenario = {
  name: 'cold',
  what: 'starts of 2,000 subscribers that the node meets for the first time, and again when warm',
  async run(bench) {
    // Not warmed up: the first contact is measured.
    const environment = {
      TOLLGATE_RECORDER_ENABLED: 'false',
      TOLLGATE_LEDGER_OWNERS_WARMED_MAX: '0',
    }
    const product = await bench.product({ environment })
    const passes: Pass[] = []
    await startAll(bench, product, 'a node that runs')
    await restart(product)
    passes.push(await startAll(bench, product, 'cold'))
    passes.push(await startAll(bench, product, 'warm'))
    const [cold, warm] = passes as [Pass, Pass]
    const missing = passes.filter(({ granted }) => granted < SUBSCRIBERS)
    return {
      figures: {
        cold_per_second: Math.round(cold.perSecond),
        cold_p50_ms: round(cold.p50, 1),
        warm_per_second: Math.round(warm.perSecond),
      },
      ratios: { cold_to_warm: cold.perSecond / warm.perSecond },
      goals: [],
      tables: [tableOf(passes)],
      notes: [`${CONNECTIONS} connections, each start after the last answer`],
      failures: missing.map(({ name, granted }) => `${name}: ${granted} of ${SUBSCRIBERS} granted`),
    }
  },
}

async function restart(product: Product): Promise<void> {
  await product.kill9('realtime')
  await product.start('realtime')
}

/** Starts a session of each subscriber, with session names like those of network elements. */
async function startAll(bench: Bench, product: Product, name: string): Promise<Pass> {
  bench.say(`  ${name}`)
  const count = Math.min(SUBSCRIBERS, bench.settings.subscribers)
  const latencies: number[] = []
  let [next, granted] = [0, 0]
  const begunMs = performance.now()
  const walk = async () => {
    const client = new Client(product.realtimePort)
    while (next < count) {
      const sid = FIRST_SID + next
      next += 1
      const sentMs = performance.now()
      const { body } = await client.post(
        JSON.stringify({
          record_type: 'start_request',
          session_id: `${name}-${sid}`,
          request_num: 0,
          msisdn: `88800${String(sid).padStart(9, '0')}`,
          usaget: 'data',
          usagev: 1,
        }),
      )
      latencies.push(performance.now() - sentMs)
      if (body.includes(GRANTED)) granted += 1
    }
    client.close()
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, walk))
  const seconds = (performance.now() - begunMs) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return { name, perSecond: count / seconds, p50: at(0.5), p99: at(0.99), granted }
}

function tableOf(passes: readonly Pass[]): Table {
  return {
    title: `Starts of ${SUBSCRIBERS} subscribers`,
    columns: ['', 'per second', 'p50 ms', 'p99 ms'],
    rows: passes.map(({ name, perSecond, p50, p99 }) => [
      name,
      Math.round(perSecond),
      round(p50, 1),
      round(p99, 1),
    ]),
  }
}
