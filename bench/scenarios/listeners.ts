/** One and two whole event loops on one port. */
import { loadConfig } from '../../src/config/load.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { round, type Window } from '../measure/load.ts'
import { loadTable, measureClosed, otherAnswers, withGenerator } from '../measure/turns.ts'
import { type Bench, type Scenario, SkippedError } from '../scenario.ts'

const SETTING = 'TOLLGATE_REALTIME_LISTENERS'

export const listenersScenario: Scenario = {
  name: 'listeners',
  what: 'realtime.listeners 1 and 2: whole event loops that share the port',
  async run(bench) {
    refuseWithoutSetting()
    const one = await closed(bench, 1)
    const two = await closed(bench, 2)
    const echo = await withGenerator((generator) => measureEcho(bench, generator))
    const ratio = two.perSecond / one.perSecond
    return {
      figures: {
        one_per_second: Math.round(one.perSecond),
        two_per_second: Math.round(two.perSecond),
        echo_per_second: Math.round(echo.perSecond),
      },
      ratios: { two_to_one: ratio, two_to_echo: two.perSecond / echo.perSecond },
      goals: [],
      tables: [
        loadTable('Event loops', [
          ['one', one],
          ['two', two],
        ]),
      ],
      notes: [
        `two by one ${round(ratio, 2)}; raw echo ${Math.round(echo.perSecond)}/s`,
        ...otherAnswers(one, two),
      ],
    }
  },
}

async function closed(bench: Bench, listeners: number): Promise<Window> {
  const environment = { TOLLGATE_RECORDER_ENABLED: 'false', [SETTING]: String(listeners) }
  const product = await bench.product({ environment })
  return withGenerator((generator) => measureClosed(bench, product, generator, 'json'))
}

function refuseWithoutSetting(): void {
  try {
    loadConfig({ env: { [SETTING]: '2' } })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new SkippedError(`the product does not take ${SETTING}: ${why}`)
  }
}
