/** Stored rules of money and usage patterns that are invalid. */
import { describe, expect, it } from 'vitest'
import { loadConfig } from '../../../src/config/load.ts'
import { beginFraudRules, fraudHandler } from '../../../src/jobs/event-jobs/fraud-job.ts'
import { beginOverdue, overdueHandler } from '../../../src/jobs/event-jobs/overdue-job.ts'
import { jobsDue } from '../../../src/jobs/jobs.ts'
import { runJob } from '../../../src/jobs/runner.ts'
import { storeEventRules } from '../../support/billing/money-rules.ts'
import { recordingLog, useStore } from '../../support/catalog/store.ts'

const store = useStore()
const VALID = { event_type: 'invoice_parked' }
const INVALID = {
  money: [VALID, { event_type: 'paid' }],
  fraud: [{ event_code: 'MANY', recurrence: { type: 'minutely', value: 15 } }],
}

describe('a rule that is stored and invalid', () => {
  it('is logged once for each reason, and again when it is invalid again', async () => {
    const catalog = await store.open()
    await catalog.ensureIndexes()
    const { log, records } = recordingLog()
    let nowMs = Date.UTC(2026, 5, 15)
    const parts = { catalog, clock: { nowMs: () => nowMs }, config: loadConfig({ env: {} }), log }
    const handlers = { overdue: overdueHandler(parts), fraud: fraudHandler(parts) }
    const stores = { ...parts, handlers }
    await beginOverdue(parts)
    await beginFraudRules(parts)
    const run = async (rules: object) => {
      await storeEventRules(catalog, rules)
      nowMs += 60_000
      const due = await jobsDue(stores)
      expect(due).toHaveLength(2)
      for (const job of due) await runJob(stores, job, new AbortController().signal)
      const logged = records.splice(0).filter(({ msg }) => msg.includes('left out'))
      return logged.map(({ level, path }) => `${level} ${path}`).sort()
    }
    const money = expect.stringMatching(/^warn events\.money\.1/)
    const fraud = expect.stringMatching(/^warn events\.fraud\.0/)
    expect(await run(INVALID)).toEqual([fraud, money])
    expect(await run(INVALID)).toEqual([])
    expect(await run({ money: [VALID] })).toEqual([])
    expect(await run({ money: INVALID.money })).toEqual([money])
  })
})
