/** One and two complete event loops on one port. */
import { loadConfig } from '../../src/config/load.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { countLedger, type LedgerFigures, ledgerNote } from '../measure/figures.ts'
import { round, type Window } from '../measure/load.ts'
import { loadTable, measureClosed, otherAnswers, withGenerator } from '../measure/turns.ts'
import { type Bench, type Scenario, SkippedError } from '../scenario.ts'

const SETTING = 'TOLLGATE_REALTIME_LISTENERS'

/** Number of event loops, and workers per event loop. */
const KINDS = [
  { name: 'one loop, one worker', key: '1x1', listeners: 1, workers: 1 },
  { name: 'one loop, two workers', key: '1x2', listeners: 1, workers: 2 },
  { name: 'two loops, one worker each', key: '2x1', listeners: 2, workers: 1 },
] as const
type Kind = (typeof KINDS)[number]

export const listenersScenario: Scenario = {
  name: 'listeners',
  what: 'realtime.listeners: one and two whole event loops on one port, by their workers',
  async run(bench) {
    refuseWithoutSetting()
    const all: { name: string; key: string; window: Window; ledger: LedgerFigures }[] = []
    for (const kind of KINDS) all.push({ ...kind, ...(await closed(bench, kind)) })
    const echo = await withGenerator((generator) => measureEcho(bench, generator))
    const rateOf = (key: Kind['key']) => all.find((one) => one.key === key)?.window.perSecond ?? 0
    const [toWorker, toWorkers] = [rateOf('2x1') / rateOf('1x1'), rateOf('2x1') / rateOf('1x2')]
    return {
      figures: {
        ...Object.fromEntries(
          all.map(({ key, window }) => [`per_second_${key}`, Math.round(window.perSecond)]),
        ),
        echo_per_second: Math.round(echo.perSecond),
      },
      ratios: {
        '2x1_to_1x1': toWorker,
        '2x1_to_1x2': toWorkers,
        '2x1_to_echo': rateOf('2x1') / echo.perSecond,
      },
      goals: [],
      tables: [
        loadTable(
          'Event loops',
          all.map(({ name, window }) => [name, window] as const),
        ),
      ],
      notes: [
        `two loops by one with as many workers in all ${round(toWorkers, 2)}, by one with one ` +
          `worker ${round(toWorker, 2)}; raw echo ${Math.round(echo.perSecond)}/s`,
        ...all.map(({ name, ledger }) => `${name}: ${ledgerNote(ledger)}`),
        ...otherAnswers(...all.map(({ window }) => window)),
      ],
    }
  },
}

async function closed(bench: Bench, { listeners, workers }: Kind) {
  const environment = {
    TOLLGATE_RECORDER_ENABLED: 'false',
    [SETTING]: String(listeners),
    TOLLGATE_REALTIME_WORKERS: String(workers),
  }
  const product = await bench.product({ environment })
  return withGenerator(async (generator) => {
    // The warm-up is included: its conflicts per request are the same.
    const { result: window, ledger } = await countLedger(product, () =>
      measureClosed(bench, product, generator, 'json'),
    )
    return { window, ledger }
  })
}

function refuseWithoutSetting(): void {
  try {
    loadConfig({ env: { [SETTING]: '2' } })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new SkippedError(`the product does not take ${SETTING}: ${why}`)
  }
}
