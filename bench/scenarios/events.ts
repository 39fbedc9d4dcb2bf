/**
 * The same closed loop without rules for events and with twenty rules for each subscriber, in turns
 * on one product whose settings change. The rules are tested by each report, and hardly ever met.
 */
import { setTimeout as pause } from 'node:timers/promises'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { loadConfig } from '../../src/config/load.ts'
import { withCatalog } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { median, round, type Window } from '../measure/load.ts'
import { loadTable, measureClosed, middle, otherAnswers, withGenerator } from '../measure/turns.ts'
import type { Scenario } from '../scenario.ts'

const ROUNDS = 3
/** Part of the rate without rules that must remain. */
const SHARE_MIN = 0.9
/** After so many polls every worker has the settings. */
const POLLS = 3

export const eventsScenario: Scenario = {
  name: 'events',
  what: 'twenty rules for events per subscriber, compared with none',
  async run(bench) {
    const product = await bench.product({ environment: { TOLLGATE_RECORDER_ENABLED: 'false' } })
    return withGenerator(async (generator) => {
      const without: Window[] = []
      const withRules: Window[] = []
      const closed = () => measureClosed(bench, product, generator, 'json')
      while (without.length < (bench.settings.short ? 1 : ROUNDS)) {
        await store(product, {})
        without.push(await closed())
        await store(product, { balance: RULES })
        withRules.push(await closed())
      }
      await store(product, {})
      const share = median(
        withRules.map(({ perSecond }, at) => perSecond / (without[at]?.perSecond ?? Number.NaN)),
      )
      const all = [...without, ...withRules]
      return {
        figures: {
          per_second_without: Math.round(middle(without).perSecond),
          per_second_with_rules: Math.round(middle(withRules).perSecond),
        },
        ratios: { with_to_without: share },
        goals: [
          { what: 'with 20 rules / without', is: round(share, 3), wanted: { atLeast: SHARE_MIN } },
        ],
        tables: [
          loadTable('Rules for events', [
            ['none', middle(without)],
            ['20 for each subscriber', middle(withRules)],
          ]),
        ],
        notes: otherAnswers(...all),
      }
    })
  },
}

async function store(product: Product, value: object): Promise<void> {
  await withCatalog(product, (catalog) =>
    writeStoredConfig(catalog, 'events', () => value, { nowMs: Date.now(), by: 'bench' }),
  )
  await pause(POLLS * loadConfig({ env: {} }).catalog.pollMs)
}

const percentages = (path: string, from: number) => ({
  type: 'reached_percentage',
  value: `${from},${from + 20},${from + 40}`,
  paths: [{ path, total_path: 'credited' }],
})
const includeIs = (id: number) => ({
  type: 'is',
  value: id,
  paths: [{ path: 'pp_includes_external_id' }],
})

/** On money and data, the credit of each subscriber. */
const RULES = Array.from({ length: 20 }, (_, index) => {
  const event_code = `RULE_${index}`
  const conditions = [
    [percentages('spent', 20 + index), includeIs(1 + (index % 2))],
    [{ type: 'reached_constant', value: `-${5 + index},-1`, paths: [{ path: 'balance.cost' }] }],
    [
      {
        type: 'reached_constant',
        value: `-${1000 * index + 500},0`,
        paths: [{ path: 'balance.totals.data.usagev' }],
      },
      { type: 'is', value: 'prepaid', paths: [{ path: 'connection_type' }] },
    ],
    [
      {
        type: 'reached_constant_recurring',
        value: 1_000_000_000 + index,
        paths: [{ path: 'spent' }],
      },
    ],
  ][index % 4]
  return { event_code, conditions }
})
