/** One and two event loops on one port. */
import { loadConfig } from '../../src/config/load.ts'
import { measureEcho } from '../measure/ceilings.ts'
import { countLedger, type LedgerFigures, ledgerNote } from '../measure/figures.ts'
import { median, round, type Window } from '../measure/load.ts'
import { loadTable, measureClosed, middle, otherAnswers, withGenerator } from '../measure/turns.ts'
import { type Bench, type Scenario, SkippedError } from '../scenario.ts'

const SETTING = 'TOLLGATE_REALTIME_LISTENERS'

/** Number of event loops, and workers per event loop. */
const KINDS = {
  '1x1': { name: 'one loop, one worker', listeners: 1, workers: 1 },
  '1x2': { name: 'one loop, two workers', listeners: 1, workers: 2 },
  '2x1': { name: 'two loops, one worker each', listeners: 2, workers: 1 },
} as const
type Key = keyof typeof KINDS
const KEYS = Object.keys(KINDS) as Key[]

/** Rounds of all kinds in turn: disturbances of the machine affect all of them. */
const ROUNDS = 3

interface Measured {
  window: Window
  ledger: LedgerFigures
}

export const listenersScenario: Scenario = {
  name: 'listeners',
  what: 'realtime.listeners: one and two event loops on one port, by their workers',
  async run(bench) {
    refuseWithoutSetting()
    const rounds: Record<Key, Measured>[] = []
    while (rounds.length < (bench.settings.short ? 1 : ROUNDS)) rounds.push(await oneRound(bench))
    const echo = await withGenerator((generator) => measureEcho(bench, generator))
    const windowsOf = (key: Key) => rounds.map((measured) => measured[key].window)
    const rateOf = (key: Key) => median(windowsOf(key).map(({ perSecond }) => perSecond))
    const ratioTo = (key: Key) =>
      median(rounds.map((all) => all['2x1'].window.perSecond / all[key].window.perSecond))
    const [toWorker, toWorkers] = [ratioTo('1x1'), ratioTo('1x2')]
    const conflicts = Math.max(...rounds.map((measured) => measured['2x1'].ledger.conflicts))
    const ofAll = KEYS.map((key) => [KINDS[key].name, middle(windowsOf(key))] as const)
    return {
      figures: {
        ...Object.fromEntries(KEYS.map((key) => [`per_second_${key}`, Math.round(rateOf(key))])),
        echo_per_second: Math.round(echo.perSecond),
      },
      ratios: {
        '2x1_to_1x1': toWorker,
        '2x1_to_1x2': toWorkers,
        '2x1_to_echo': rateOf('2x1') / echo.perSecond,
      },
      goals: [
        { what: 'two loops / one, two workers', is: round(toWorkers, 2), wanted: { atLeast: 1 } },
        {
          what: 'conflicts per request, two loops',
          is: round(conflicts, 4),
          wanted: { atMost: CONFLICTS_MAX },
        },
      ],
      tables: [loadTable('Event loops', ofAll)],
      notes: [
        `two loops by one with as many workers in all ${round(toWorkers, 2)}, by one with one ` +
          `worker ${round(toWorker, 2)}; raw echo ${Math.round(echo.perSecond)}/s`,
        ...KEYS.map((key) => `${KINDS[key].name}: ${ledgerNote(middleLedger(rounds, key))}`),
        ...otherAnswers(...KEYS.flatMap(windowsOf)),
      ],
    }
  },
}

/** An account is served by one worker of the process, so that its commits do not conflict. */
const CONFLICTS_MAX = 0.001

async function oneRound(bench: Bench): Promise<Record<Key, Measured>> {
  const measured: Partial<Record<Key, Measured>> = {}
  for (const key of KEYS) measured[key] = await closed(bench, key)
  return measured as Record<Key, Measured>
}

/** The figures of the window with the median rate. */
function middleLedger(rounds: readonly Record<Key, Measured>[], key: Key): LedgerFigures {
  const all = rounds.map((measured) => measured[key])
  const window = middle(all.map((one) => one.window))
  return (all.find((one) => one.window === window) as Measured).ledger
}

async function closed(bench: Bench, key: Key): Promise<Measured> {
  const { listeners, workers } = KINDS[key]
  const environment = {
    TOLLGATE_RECORDER_ENABLED: 'false',
    [SETTING]: String(listeners),
    TOLLGATE_REALTIME_WORKERS: String(workers),
    TOLLGATE_REALTIME_WORKER_KIND: 'thread',
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
