/** The same sessions as key-value text, in alternation with plain JSON. */
import { round } from '../measure/load.ts'
import { inTurns, loadTable, middle, otherAnswers } from '../measure/turns.ts'
import type { Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

export const keyValueScenario: Scenario = {
  name: 'keyvalue',
  what: 'HTTP key-value text, closed loop, in turns with JSON',
  async run(bench) {
    const product = await bench.product(PAUSED)
    const { first, second, ratio, toEcho, echo } = await inTurns(bench, product, [
      'json',
      'keyValue',
    ])
    const [json, own] = [middle(first), middle(second)]
    return {
      figures: {
        requests_per_second: Math.round(own.perSecond),
        echo_per_second: Math.round(echo.perSecond),
      },
      ratios: { to_json: ratio, to_echo: toEcho },
      goals: [],
      tables: [
        loadTable('Key-value text', [
          ['HTTP JSON', json],
          ['HTTP key-value', own],
        ]),
      ],
      notes: [
        `raw echo ${Math.round(echo.perSecond)}/s, ratio ${round(toEcho, 3)}`,
        ...otherAnswers(json, own),
      ],
    }
  },
}
