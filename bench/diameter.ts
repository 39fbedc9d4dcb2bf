/**
 * `npm run bench:diameter`: sessions of 1 initial, 10 update and 1 termination request with two
 * rating groups each over Diameter, in alternation with the same sessions over HTTP as JSON.
 */
import { writeFileSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { readMessage, uint32Of } from '../src/realtime/codecs/diameter-wire/message.ts'
import { avpCode } from '../src/realtime/codecs/diameter-wire/protocol.ts'
import { DEFAULT_LIMITS } from '../test/support/product/patience.ts'
import { FIRST_SID, populate } from '../test/support/product/population.ts'
import { type Product, startProduct } from '../test/support/product/product.ts'
import { cpuMicros } from './cpu.ts'
import { DiameterClient } from './diameter-client.ts'
import { gatewayRequest, MIB } from './diameter-messages.ts'
import { type LoadResult, runLoad, warmSubscribers } from './load.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '5' },
    rounds: { type: 'string', default: '3' },
    subscribers: { type: 'string', default: '10000' },
    connections: { type: 'string', default: '4' },
    outstanding: { type: 'string', default: '128' },
    json: { type: 'string' },
  },
})
const SUBSCRIBERS = Number(values.subscribers)
/** Concurrent sessions of each protocol. */
const OUTSTANDING = Number(values.outstanding)
const CONNECTIONS = Number(values.connections)
const DURATION_MS = Number(values.seconds) * 1000
const UPDATES = 10
const USED = 7 * MIB
const REQUESTED = 10 * MIB

const say = (text: string) => process.stdout.write(`${text}\n`)
const nowMs = () => performance.now()

interface Result {
  requests: number
  requestsPerSecond: number
  p50: number
  p99: number
  answers: Record<string, number>
}

/** A gateway that runs one session after the other. */
async function gateway(
  client: DiameterClient,
  index: number,
  run: string,
  until: number,
  take: (latencyMs: number, answer: Buffer) => void,
): Promise<void> {
  let subscriber = index
  for (let session = 0; nowMs() < until; session += 1) {
    const sessionId = `pgw1;${run};${index};${session};`
    const msisdn = `88800${String(FIRST_SID + subscriber).padStart(9, '0')}`
    for (let number = 0; number <= UPDATES + 1 && nowMs() < until; number += 1) {
      const type = number === 0 ? 1 : number <= UPDATES ? 2 : 3
      const before = nowMs()
      const answer = await client.send(
        gatewayRequest({ sessionId, type, number, msisdn, used: USED, requested: REQUESTED }),
      )
      take(nowMs() - before, answer)
    }
    subscriber = (subscriber + OUTSTANDING) % SUBSCRIBERS
  }
}

async function runDiameter(port: number, run: string, durationMs: number): Promise<Result> {
  const clients = Array.from({ length: CONNECTIONS }, () => new DiameterClient({ port }))
  await Promise.all(clients.map((client) => client.open()))
  const latencies: number[] = []
  const answers: Record<string, number> = {}
  const started = nowMs()
  let seen = 0
  const take = (latencyMs: number, answer: Buffer) => {
    latencies.push(latencyMs)
    seen += 1
    // Reading every answer would cost the generator more than sending requests.
    if (seen % 16 !== 0) return
    const code = String(uint32Of(readMessage(answer).avps, avpCode.resultCode))
    answers[code] = (answers[code] ?? 0) + 16
  }
  await Promise.all(
    Array.from({ length: OUTSTANDING }, (_, index) =>
      gateway(clients[index % CONNECTIONS]!, index, run, started + durationMs, take),
    ),
  )
  for (const client of clients) client.close()
  return figures(latencies, (nowMs() - started) / 1000, answers)
}

function figures(latencies: number[], seconds: number, answers: Record<string, number>): Result {
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  const requestsPerSecond = latencies.length / seconds
  return { requests: latencies.length, requestsPerSecond, p50: at(0.5), p99: at(0.99), answers }
}

/** The same sessions as plain JSON, one per connection. */
function runJson(port: number, run: string, durationMs: number): Promise<LoadResult> {
  const bodies = (connection: number) => jsonBodies(connection, run)
  const sizes = { connections: OUTSTANDING, subscribers: SUBSCRIBERS }
  return runLoad({ port, ...sizes, durationMs, bodies, nowMs })
}

function jsonBodies(connection: number, run: string): () => string {
  let subscriber = connection
  let session = 0
  let step = 0
  const service = (group: number, isLast: boolean, isFirst: boolean) => {
    const used = isFirst ? '' : `,"used_usagev":${USED}`
    const asked = isLast ? '' : `,"usagev":${REQUESTED}`
    return `{"rating_group":${group},"usaget":"data"${asked}${used}}`
  }
  return () => {
    const number = step
    const isLast = step > UPDATES
    const kind = step === 0 ? 'start' : isLast ? 'release' : 'update'
    const services = [10, 20].map((group) => service(group, isLast, number === 0)).join()
    const id = `"session_id":"${run}-${connection}-${session}","request_num":${number}`
    const head = `"record_type":"${kind}_request",${id},"sid":${FIRST_SID + subscriber}`
    const text = `{${head},"services":[${services}]}`
    step = isLast ? 0 : step + 1
    if (isLast) {
      session += 1
      subscriber = (subscriber + OUTSTANDING) % SUBSCRIBERS
    }
    return text
  }
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}

async function measured<T extends { requests: number }>(product: Product, run: () => Promise<T>) {
  const before = cpuMicros(product.pid('realtime'))
  const result = await run()
  const micros = cpuMicros(product.pid('realtime')) - before
  return { ...result, cpuMicros: micros / result.requests }
}

function shown(name: string, result: Result & { cpuMicros: number }): string {
  const { requestsPerSecond, p50, p99, cpuMicros: cpu, answers } = result
  const latency = `p50 ${p50.toFixed(2)} p99 ${p99.toFixed(2)} ms`
  const rate = requestsPerSecond.toFixed(0).padStart(7)
  const codes = JSON.stringify(answers)
  return `${name} ${rate} requests/s  ${latency}  CPU ${cpu.toFixed(1)} µs  ${codes}`
}

async function main(): Promise<void> {
  const environment = { ...DEFAULT_LIMITS, TOLLGATE_RECORDER_ENABLED: 'false' }
  const product = await startProduct({ environment })
  try {
    say(`seeding ${SUBSCRIBERS} subscribers`)
    const credits = [
      { prepaidIncludeId: 1, amount: 1_000_000_000_000 },
      { prepaidIncludeId: 2, amount: 1000 * 1024 ** 3 },
    ]
    await populate({ ...product, subscribers: SUBSCRIBERS, subscribersPerAccount: 1, credits })
    await product.start('realtime')
    await product.start('admin')
    say('warming up')
    await warmSubscribers(product.realtimePort, SUBSCRIBERS)
    await runJson(product.realtimePort, 'warm', DURATION_MS / 2)
    await runDiameter(product.diameterPort, 'warm', DURATION_MS / 2)
    const ratios: number[] = []
    for (let round = 1; round <= Number(values.rounds); round += 1) {
      const json = await measured(product, () =>
        runJson(product.realtimePort, `json${round}`, DURATION_MS),
      )
      const diameter = await measured(product, () =>
        runDiameter(product.diameterPort, `gy${round}`, DURATION_MS),
      )
      say(shown('HTTP JSON', json))
      say(shown('Diameter ', diameter))
      ratios.push(diameter.requestsPerSecond / json.requestsPerSecond)
    }
    say('')
    say(`ratio Diameter / HTTP JSON  ${ratios.map((one) => one.toFixed(2)).join(' ')}`)
    say(`median ${median(ratios).toFixed(2)}, goal 0.70`)
    if (values.json !== undefined) {
      writeFileSync(values.json, `${JSON.stringify({ ratios, median: median(ratios) })}\n`)
    }
  } finally {
    await product.stop()
  }
}

await main()
