/**
 * The same sessions over Diameter with two rating groups per request, in alternation with plain
 * JSON.
 */
import { round } from '../measure/load.ts'
import { inTurns, loadTable, middle, otherAnswers } from '../measure/turns.ts'
import type { Scenario } from '../scenario.ts'
import { PAUSED } from './json.ts'

export const diameterScenario: Scenario = {
  name: 'diameter',
  what: 'Diameter over four connections, two rating groups a request, in turns with JSON',
  inShort: true,
  async run(bench) {
    const product = await bench.product(PAUSED)
    const { first, second, ratio, toEcho, echo } = await inTurns(bench, product, [
      'json',
      'diameter',
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
        loadTable('Diameter', [
          ['HTTP JSON, one rating group', json],
          ['Diameter, two rating groups', own],
        ]),
      ],
      notes: [
        `raw HTTP echo ${Math.round(echo.perSecond)}/s, ratio ${round(toEcho, 3)}`,
        'a CCR has some 900 bytes and two services, each with a rating and a line of its own; ' +
          'npm run bench:diameter compares with two services in both',
        ...otherAnswers(json, own),
      ],
    }
  },
}
