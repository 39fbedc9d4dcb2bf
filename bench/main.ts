/** `npm run bench`: the real product under a closed loop, beside the ceilings of the same run. */
import { writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { measureEcho, measureScript } from './ceilings.ts'
import { cpuMicros } from './cpu.ts'
import { type LoadResult, meetSubscribers, runLoad, sessionBodies } from './load.ts'
import { populate } from './population.ts'
import { type Product, startProduct } from './product.ts'

const usage = `npm run bench -- [--seconds N] [--subscribers N] [--connections N] [--recorder]
                 [--appendfsync always|everysec] [--json FILE]`

interface Report {
  requests_per_second: number
  p50_ms: number
  p99_ms: number
  p999_ms: number
  ceiling_echo_rps: number
  ceiling_script_rps: number
  cpu_us_per_request: number
  cpu_us_per_request_server: number
  cpu_us_per_request_redis: number
  answers: Record<string, number>
}

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '10' },
    subscribers: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '128' },
    recorder: { type: 'boolean', default: false },
    appendfsync: { type: 'string', default: 'everysec' },
    json: { type: 'string' },
    help: { type: 'boolean', default: false },
  },
})

const nowMs = () => performance.now()
const say = (text: string) => process.stdout.write(`${text}\n`)

async function main(): Promise<void> {
  if (values.help) {
    say(usage)
    return
  }
  const subscribers = Number(values.subscribers)
  const connections = Number(values.connections)
  const appendfsync = values.appendfsync === 'always' ? 'always' : 'everysec'
  const environment = { TOLLGATE_RECORDER_ENABLED: String(values.recorder) }
  const product = await startProduct({ appendfsync, environment })
  try {
    say(`seeding ${subscribers} subscribers`)
    await populate({
      ...product,
      ...{ subscribers, subscribersPerAccount: 1 },
      credits: [
        { prepaidIncludeId: 1, amount: 1_000_000_000_000 },
        { prepaidIncludeId: 2, amount: 100 * 1024 ** 3 },
      ],
    })
    await product.start('realtime')
    await product.start('admin')
    const report = await measure(product, subscribers, connections)
    print(report)
    if (values.json !== undefined) writeFileSync(values.json, `${JSON.stringify(report)}\n`)
  } finally {
    await product.stop()
  }
}

async function measure(
  product: Product,
  subscribers: number,
  connections: number,
): Promise<Report> {
  const durationMs = Number(values.seconds) * 1000
  const load = (run: string, forMs: number) => {
    const bodies = sessionBodies(subscribers, connections, run)
    return { connections, subscribers, durationMs: forMs, bodies, nowMs }
  }
  say('warming up')
  await meetSubscribers(product.realtimePort, subscribers)
  await runLoad({ ...load('warm', durationMs / 2), port: product.realtimePort })
  say(`${connections} connections for ${durationMs / 1000} s`)
  const before = cpuOf(product)
  const result = await runLoad({ ...load('run', durationMs), port: product.realtimePort })
  const after = cpuOf(product)
  const perRequest = (micros: number) => round(micros / result.requests, 2)
  const server = perRequest(after.server - before.server)
  const redis = perRequest(after.redis - before.redis)
  say('ceilings: echo, script')
  await measureEcho(load('echo', durationMs / 4))
  const echo = await measureEcho(load('echo', durationMs / 2))
  const script = await measureScript(product.redisUrl, nowMs)
  return {
    ...figures(result),
    ceiling_echo_rps: Math.round(echo.requestsPerSecond),
    ceiling_script_rps: Math.round(script),
    cpu_us_per_request: round(server + redis, 2),
    cpu_us_per_request_server: server,
    cpu_us_per_request_redis: redis,
    answers: result.answers,
  }
}

function figures(result: LoadResult) {
  return {
    requests_per_second: Math.round(result.requestsPerSecond),
    p50_ms: round(result.p50, 3),
    p99_ms: round(result.p99, 3),
    p999_ms: round(result.p999, 3),
  }
}

/** CPU time so far, µs, from the kernel's accounts. */
function cpuOf(product: Product): { server: number; redis: number } {
  return { server: cpuMicros(product.pid('realtime')), redis: cpuMicros(product.pid('redis')) }
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits))
}

function print(report: Report): void {
  const ratio = (ceiling: number) => (report.requests_per_second / ceiling).toFixed(2)
  say('')
  say(`requests/s   ${report.requests_per_second}`)
  say(`latency ms   p50 ${report.p50_ms}  p99 ${report.p99_ms}  p99.9 ${report.p999_ms}`)
  say(`echo         ${report.ceiling_echo_rps} requests/s  ratio ${ratio(report.ceiling_echo_rps)}`)
  say(
    `raw script   ${report.ceiling_script_rps} calls/s  ratio ${ratio(report.ceiling_script_rps)}`,
  )
  const { cpu_us_per_request_server: server, cpu_us_per_request_redis: redis } = report
  say(`CPU µs/req   ${report.cpu_us_per_request} = server ${server} + redis ${redis}`)
  say(`answers      ${JSON.stringify(report.answers)}`)
}

await main()
