/** Metrics of calls of the customer system, from the reports of workers. */
import { Counter, Gauge, type Registry } from 'prom-client'

export const CUSTOMER_CIRCUIT = 'tollgate_customer_circuit'

/** State of one worker, as it reports it: counts since its settings were read. */
export interface CustomerSystemState {
  readonly worker: number
  readonly calls: readonly {
    readonly call: string
    readonly circuit: 'closed' | 'open' | 'half-open'
    readonly outcomes: Readonly<Record<string, number>>
  }[]
  readonly stale: number
}

export interface CustomerMetrics {
  /** Records the state of a worker; without calls it asks no customer system any more. */
  customerSystem(state: CustomerSystemState): void
}

const CIRCUITS = { closed: 0, 'half-open': 1, open: 2 } as const

export function createCustomerMetrics(registers: Registry[]): CustomerMetrics {
  const circuit = new Gauge({
    name: CUSTOMER_CIRCUIT,
    help: 'Circuit of the customer system: 0 closed, 1 probing, 2 open (not called)',
    labelNames: ['call', 'worker'] as const,
    registers,
  })
  const calls = new Counter({
    name: 'tollgate_customer_calls_total',
    help: 'Calls of the customer system, by ok or what failed',
    labelNames: ['call', 'outcome'] as const,
    registers,
  })
  const stale = new Counter({
    name: 'tollgate_customer_stale_total',
    help: 'Profiles that were used beyond their age while they were read again',
    registers,
  })
  /** Counts already added. They restart with a worker and with its settings. */
  const added = new Map<string, number>()
  const growth = (key: string, count: number): number => {
    const before = added.get(key) ?? 0
    added.set(key, count)
    return count >= before ? count - before : count
  }
  return {
    customerSystem({ worker, calls: reported, stale: used }) {
      for (const call of ['subscriber', 'account']) {
        if (!reported.some((each) => each.call === call)) circuit.remove({ call, worker })
      }
      for (const { call, circuit: state, outcomes } of reported) {
        circuit.set({ call, worker }, CIRCUITS[state])
        for (const [outcome, count] of Object.entries(outcomes)) {
          calls.inc({ call, outcome }, growth(`${worker} ${call} ${outcome}`, count))
        }
      }
      stale.inc(growth(`${worker} stale`, used))
    },
  }
}
