/**
 * Sustained load of many sessions that report in turn: no two reports of a round of the recorder
 * are of one subscriber, as they would be by chance among few.
 */
import { populate } from '../../test/support/product/population.ts'
import { type Product, startProduct } from '../../test/support/product/product.ts'
import type { Generator } from '../generator/generator.ts'
import { measureLoad, round, type Window } from '../measure/load.ts'
import { loadTable, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'
import { writeOwners } from './memory.ts'
import { attempt, grows } from './sustained.ts'

const SHORT_SESSIONS = 10_000

export const slowScenario: Scenario = {
  name: 'slow',
  what: 'recorder on: 200,000 sessions that report in turn, beside the same without recorder',
  async run(bench) {
    await bench.endProduct()
    const sessions = bench.settings.short ? SHORT_SESSIONS : bench.settings.population
    const product = await startProduct(PAUSED)
    try {
      bench.say(`  writing ${sessions} subscribers`)
      const size = { subscribers: sessions, subscribersPerAccount: 1 }
      await populate({ ...product, ...size, credits: [] })
      await writeOwners(product, sessions)
      for (const role of ['admin', 'realtime'] as const) await product.start(role)
      return await withGenerator((generator) => measure(bench, product, generator, sessions))
    } finally {
      await product.stop()
    }
  },
}

async function measure(bench: Bench, product: Product, generator: Generator, sessions: number) {
  const { sustainedSeconds: seconds } = bench.settings
  const flowOf = (name: string) => {
    const phases = [{ perSecond: 0, seconds }]
    return bench.flow(product, 'json', { name, sessions, subscribers: sessions, phases })
  }
  bench.say('  without recorder')
  const peak = await measureLoad(product, generator, [flowOf('slow-peak')])
  await product.start('recorder')
  bench.say('  with recorder')
  const held = await attempt(product, generator, flowOf('slow'), seconds)
  const isVoid = grows(held.backlog, held.appended)
  const { recorder, store } = held.costs
  const ratio = held.window.perSecond / peak.perSecond
  const loads: [string, Window][] = [
    ['without recorder', peak],
    ['with recorder', held.window],
  ]
  return {
    figures: {
      requests_per_second: Math.round(held.window.perSecond),
      recorder_us: round(recorder, 1),
      store_us: round(store, 1),
    },
    ratios: isVoid ? {} : { to_peak: ratio },
    goals: [{ what: 'sustained / peak', is: round(ratio, 2), wanted: { atLeast: 0.6 }, isVoid }],
    tables: [loadTable(`${sessions} sessions in turn, ${seconds} s, starts included`, loads)],
    notes: [
      `recorder ${round(recorder, 1)} µs and embedded MongoDB ${round(store, 1)} µs per request; ` +
        `the backlog ${isVoid ? 'GROWS, the run is VOID' : 'does not grow'}`,
      ...otherAnswers(peak, held.window),
    ],
  }
}
