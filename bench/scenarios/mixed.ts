/** All protocols concurrently, each with a third of the connections. */

import type { Protocol } from '../generator/job.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { countLedger, ledgerNote } from '../measure/figures.ts'
import { measureLoad, millis, round } from '../measure/load.ts'
import { loadTable, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

const PROTOCOLS: readonly Protocol[] = ['json', 'keyValue', 'diameter']

export const mixedScenario: Scenario = {
  name: 'mixed',
  what: 'JSON, key-value and Diameter at once, closed loop',
  async run(bench) {
    const product = await bench.product(PAUSED)
    const each = Math.max(1, Math.floor(bench.settings.connections / PROTOCOLS.length))
    const flows = PROTOCOLS.map((protocol) => {
      const connections = protocol === 'diameter' ? 4 : each
      return bench.flow(product, protocol, { connections, outstanding: each })
    })
    return withGenerator(async (generator) => {
      await generator.run(...flows)
      const { result: window, ledger } = await countLedger(product, () =>
        measureLoad(product, generator, flows),
      )
      const echo = await measureEcho(bench, generator)
      const toEcho = window.perSecond / echo.perSecond
      const rates = window.result.flows.map(({ name, phases }) => {
        const [phase] = phases
        return `${name} ${Math.round((phase?.admitted ?? 0) / (phase?.seconds ?? 1))}/s`
      })
      return {
        figures: {
          requests_per_second: Math.round(window.perSecond),
          echo_per_second: Math.round(echo.perSecond),
          p99_ms: millis(window.latency, 0.99),
          conflicts_per_request: round(ledger.conflicts, 4),
        },
        ratios: { to_echo: toEcho },
        goals: [],
        tables: [loadTable('Mixed', [['all three', window]])],
        notes: [
          `${rates.join(', ')}; raw echo ${Math.round(echo.perSecond)}/s, ` +
            `ratio ${round(toEcho, 3)}`,
          ledgerNote(ledger),
          ...otherAnswers(window),
        ],
      }
    })
  },
}
