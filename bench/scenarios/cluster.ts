/** A Redis Cluster on the same machine, with three masters and one replica each. */

import { startTestCluster } from '../../test/support/product/cluster.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { round } from '../measure/load.ts'
import { loadTable, measureClosed, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

export const clusterScenario: Scenario = {
  name: 'cluster',
  what: 'a Redis Cluster of three masters with replicas, all on this machine',
  async run(bench) {
    await bench.endProduct()
    const cluster = await startTestCluster()
    try {
      const product = await bench.product({ ...PAUSED, redisUrl: cluster.url })
      const pids = cluster.nodes.map(({ pid }) => pid)
      return await withGenerator(async (generator) => {
        const window = await measureClosed(bench, product, generator, 'json', pids)
        const echo = await measureEcho(bench, generator)
        const toEcho = window.perSecond / echo.perSecond
        return {
          figures: {
            requests_per_second: Math.round(window.perSecond),
            echo_per_second: Math.round(echo.perSecond),
          },
          ratios: { to_echo: toEcho },
          goals: [],
          tables: [loadTable('Redis Cluster', [['three masters, three replicas', window]])],
          notes: [
            `raw echo ${Math.round(echo.perSecond)}/s, ratio ${round(toEcho, 3)}; ` +
              'Redis µs are those of all six nodes, which share the cores of this machine',
            ...otherAnswers(window),
          ],
        }
      })
    } finally {
      await bench.endProduct()
      await cluster.close()
    }
  },
}
