/** Audit after a full load: charges acknowledged to the generator, lines, and the ledger. */
import { MongoClient } from 'mongodb'
import { tollgate } from '../../test/support/product/command.ts'
import { FIRST_SID } from '../../test/support/product/population.ts'
import type { Product } from '../../test/support/product/product.ts'
import { waitUntil } from '../../test/support/wait.ts'
import { USED } from '../generator/http-messages.ts'
import type { Reports } from '../generator/job.ts'
import { productFigure } from '../measure/figures.ts'
import { windowOf } from '../measure/load.ts'
import { loadTable, measureClosed, withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario, ScenarioResult } from '../scenario.ts'
import { createBench } from '../stage.ts'

const DRAIN_MS = 300_000
/**
 * `tollgate audit` checks one account after the other, so there are few with many sessions each.
 */
const SUBSCRIBERS = { long: 1_500, short: 400 }

export const auditScenario: Scenario = {
  name: 'audit',
  what: 'exactness: after a full load, generator, lines and ledger agree on every subscriber',
  async run(whole) {
    await whole.endProduct()
    const subscribers = whole.settings.short ? SUBSCRIBERS.short : SUBSCRIBERS.long
    const bench = createBench({ ...whole.settings, subscribers }, whole.say)
    try {
      return await audited(bench)
    } finally {
      await bench.endProduct()
    }
  },
}

async function audited(bench: Bench): Promise<ScenarioResult> {
  const product = await bench.product({})
  return withGenerator(async (generator) => {
    const window = await measureClosed(bench, product, generator, 'json')
    bench.say('  releasing, recording, auditing')
    const released = windowOf(await generator.release())
    const reports = await generator.reports()
    const backlog = () => productFigure(product, 'tollgate_stream_backlog_entries')
    await waitUntil('the recorder catches up', async () => (await backlog()) === 0, DRAIN_MS)
    const unsure = window.failed + window.unanswered + released.failed + released.unanswered
    const wrong = await differences(product, reports)
    const { code, stdout } = await tollgate(product, ['audit', '--json'])
    const failures = failuresIn(wrong, code)
    const charged = reports.reduce((sum, one) => sum + total(one.reports), 0)
    return {
      figures: { differences: wrong.length, audit_exit_code: code, reports: charged },
      ratios: {},
      goals: [{ what: 'subscribers whose books differ', is: wrong.length, wanted: { atMost: 0 } }],
      tables: [loadTable('Audited load', [['HTTP JSON, recorder on', window]])],
      notes: [
        `${charged} usage reports of ${USED} bytes: generator and lines ` +
          (wrong.length === 0 ? 'agree' : `DIFFER: ${wrong.slice(0, 5).join('; ')}`),
        `tollgate audit ${code === 0 ? 'agrees' : `DOES NOT AGREE: ${stdout.slice(0, 500)}`}`,
        ...(unsure === 0 ? [] : [`${unsure} requests had no certain outcome`]),
      ],
      failures,
    }
  })
}

/** Correctness is checked even if the machine was busy. */
export function failuresIn(differing: readonly string[], auditCode: number): string[] {
  const { length } = differing
  return [
    ...(length > 0 ? [`the books of ${length} subscribers differ from what was charged`] : []),
    ...(auditCode === 0 ? [] : [`tollgate audit ended with ${auditCode}`]),
  ]
}

const total = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0)

/** Subscribers whose lines do not add up to the acknowledged reports. */
async function differences(product: Product, reports: readonly Reports[]): Promise<string[]> {
  const recorded = await recordedUsage(product)
  return reports.flatMap(({ firstSubscriber, reports: own }) =>
    own.flatMap((count, index) => {
      const sid = FIRST_SID + firstSubscriber + index
      const [expected, found] = [count * USED, recorded.get(sid) ?? 0]
      return expected === found ? [] : [`${sid}: charged ${expected}, recorded ${found}`]
    }),
  )
}

async function recordedUsage(product: Product): Promise<Map<number, number>> {
  const mongo = new MongoClient(product.mongoUrl)
  try {
    const lines = mongo.db(product.database).collection('lines').find({ type: 'realtime' })
    const sums = new Map<number, number>()
    for await (const { sid, usagev } of lines) {
      sums.set(sid, (sums.get(sid) ?? 0) + Number(usagev))
    }
    return sums
  } finally {
    await mongo.close()
  }
}
