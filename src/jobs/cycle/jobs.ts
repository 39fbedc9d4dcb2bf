/** Jobs of the billing cycle: a run, and the confirmation of its invoices. */
import { calendarOf } from '../../billing/credit/credits.ts'
import { type RunName, runCycleOf, runIdOf } from '../../billing/cycle/run-cycle.ts'
import { confirmInvoices } from '../../billing/run/confirm.ts'
import { participate } from '../../billing/run/participate.ts'
import type { Metrics } from '../../runtime/metrics.ts'
import type { JobHandler } from '../runner.ts'
import type { CycleParts } from './cycle.ts'

export type CycleJobOptions = RunName

const WAIT_MS = 1_000

function nameIn(options: Record<string, unknown>): RunName {
  const { key, invoicingDay } = options
  return { key: String(key), invoicingDay: invoicingDay === null ? null : Number(invoicingDay) }
}

/** Takes part in the run until it is finished or paused. */
export function cycleHandler(parts: CycleParts, metrics: Pick<Metrics, 'cycleRun'>): JobHandler {
  return async (claimed, signal) => {
    const name = nameIn(claimed.job.options)
    const id = runIdOf(name)
    const cycle = runCycleOf(name, calendarOf(parts.config))
    const run = await parts.withWorkers((workers) =>
      participate({ ...parts, catalog: parts.batch, workers }, cycle, signal, {
        async onProgress(run, waiting) {
          metrics.cycleRun({ ...run, waiting })
          if (waiting === '') parts.waiting.delete(id)
          else parts.waiting.set(id, waiting)
          // Without MongoDB there is nothing to save: the lease expires if that takes too long.
          if (waiting === '') await claimed.saveProgress(String(run.counts.accounts))
        },
      }),
    )
    parts.waiting.delete(id)
    return run?.state === 'running' ? parts.clock.nowMs() + WAIT_MS : null
  }
}

/** Confirms the remaining invoices of a cycle. */
export function confirmHandler(parts: CycleParts): JobHandler {
  return async (claimed, signal) => {
    const cycle = runCycleOf(nameIn(claimed.job.options), calendarOf(parts.config))
    const { actor, options } = claimed.job
    const { generatePdf: requested } = options
    const generatePdf = typeof requested === 'boolean' ? requested : undefined
    const order = { cycle, invoices: null, actor, generatePdf }
    await confirmInvoices({ ...parts, catalog: parts.batch }, order, signal, async (counts) => {
      for (const [name, count] of Object.entries(counts)) claimed.count(name, count)
      await claimed.saveProgress('confirm')
    })
    return signal.aborted ? parts.clock.nowMs() : null
  }
}
