/** Metrics of the billing cycle. */
import { Gauge, type Registry } from 'prom-client'

/** The newest run of the billing cycle. */
export type CycleRunState = {
  readonly key: string
  readonly state: 'running' | 'paused' | 'finished'
  readonly total: number
  /** Accounts by result. */
  readonly counts: Readonly<
    Record<'accounts' | 'invoices' | 'empty' | 'confirmed' | 'failed', number>
  >
  /** Why it waits for MongoDB; empty otherwise. */
  readonly waiting: string
}

export type CycleMetrics = {
  /** Sets the state of the newest run of the billing cycle. */
  cycleRun(run: CycleRunState): void
}

export function createCycleMetrics(registers: Registry[]): CycleMetrics {
  const labelNames = ['key'] as const
  const total = new Gauge({
    name: 'tollgate_cycle_accounts_total',
    help: 'Accounts of the newest run of the billing cycle',
    labelNames,
    registers,
  })
  const done = new Gauge({
    name: 'tollgate_cycle_accounts',
    help: 'Accounts of the newest run of the billing cycle, by result',
    labelNames: ['key', 'result'] as const,
    registers,
  })
  const paused = new Gauge({
    name: 'tollgate_cycle_paused',
    help: '1 if the newest run of the billing cycle is paused, or waits for another system',
    labelNames,
    registers,
  })
  return {
    cycleRun({ key, state, total: accounts, counts, waiting }) {
      for (const gauge of [total, done, paused]) gauge.reset()
      total.set({ key }, accounts)
      for (const result of ['invoices', 'empty', 'confirmed', 'failed'] as const) {
        done.set({ key, result }, counts[result])
      }
      paused.set({ key }, state === 'paused' || waiting !== '' ? 1 : 0)
    },
  }
}
