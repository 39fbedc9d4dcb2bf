import { Counter, type Registry } from 'prom-client'

/** What each event loop has to do. `answered`: where to read how many requests it has answered. */
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
    'Time that an event loop did not wait for anything',
    () => performance.eventLoopUtilization().active / 1000,
  )
}
