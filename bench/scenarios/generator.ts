/** Cost of the load generator itself, compared with autocannon on the same echo. */
import { performance } from 'node:perf_hooks'
import autocannon from 'autocannon'
import { measureEcho, startEcho } from '../measure/ceilings.ts'
import { round } from '../measure/load.ts'
import { withGenerator } from '../measure/turns.ts'
import type { Bench, Scenario } from '../scenario.ts'

const BODY =
  '{"record_type":"update_request","session_id":"bench-1-1","request_num":1,"sid":100001,' +
  '"usaget":"data","rating_group":10,"usagev":10485760,"used_usagev":7340032}'

export const generatorScenario: Scenario = {
  name: 'generator',
  what: 'the load generator beside autocannon, on the raw echo',
  async run(bench) {
    const own = await withGenerator((generator) => measureEcho(bench, generator))
    const other = await measureAutocannon(bench)
    const cheaper = other.micros / own.generator
    return {
      figures: { own_us: round(own.generator, 1), autocannon_us: round(other.micros, 1) },
      ratios: {},
      goals: [{ what: 'autocannon µs / own µs', is: round(cheaper, 1), wanted: { atLeast: 1 } }],
      tables: [
        {
          title: 'Load generators on the raw echo',
          columns: ['', 'per second', 'µs of its own per request'],
          rows: [
            ['own', Math.round(own.perSecond), round(own.generator, 1)],
            ['autocannon', Math.round(other.perSecond), round(other.micros, 1)],
          ],
        },
      ],
      notes: ['autocannon sends one body over and over; the own generator makes each'],
    }
  },
}

/** In this process, which is otherwise idle. */
async function measureAutocannon({ settings }: Bench) {
  const echo = await startEcho()
  try {
    const before = process.cpuUsage()
    const startedMs = performance.now()
    const result = await autocannon({
      url: `http://127.0.0.1:${echo.port}/realtime`,
      method: 'POST',
      body: BODY,
      connections: settings.connections,
      duration: Math.min(3, settings.seconds),
      headers: { 'content-type': 'application/json' },
    })
    const seconds = (performance.now() - startedMs) / 1000
    const { user, system } = process.cpuUsage(before)
    const requests = result['2xx']
    return { perSecond: requests / seconds, micros: (user + system) / requests }
  } finally {
    await echo.close()
  }
}
