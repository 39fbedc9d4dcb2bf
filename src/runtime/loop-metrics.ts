import { Counter, type Registry } from 'prom-client'

/** Load of an event loop. `answered` returns the number of requests that it has answered. */
export function createLoopMetrics(registry: Registry, loop: number, answered: () => number): void {
  const labels = { loop: String(loop) }
  const counter = (name: string, help: string, read: () => number) =>
    new Counter({
      name,
      help,
      labelNames: ['loop'],
      registers: [registry],
      collect() {
        this.reset()
        const value = read()
        if (value > 0) this.inc(labels, value)
      },
    })
  counter('tollgate_loop_requests_total', 'Requests answered by an event loop', answered)
  counter(
    'tollgate_loop_busy_seconds_total',
    'Time that an event loop was not idle',
    () => performance.eventLoopUtilization().active / 1000,
  )
}
