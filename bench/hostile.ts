/**
 * Effect of slow and hostile clients on other clients: the throughput under attack as a share of
 * the throughput without it, in alternation within one run.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { DEFAULT_LIMITS } from '../test/support/product/patience.ts'
import { populate } from '../test/support/product/population.ts'
import { startProduct } from '../test/support/product/product.ts'
import { cpuMicros } from './cpu.ts'
import { runLoad, sessionBodies, warmSubscribers } from './load.ts'

const { values } = parseArgs({
  options: {
    seconds: { type: 'string', default: '4' },
    rounds: { type: 'string', default: '3' },
    connections: { type: 'string', default: '64' },
    server: { type: 'string', default: 'native' },
    /** For the process of the attackers: the kind of attack and the port. */
    attack: { type: 'string' },
    port: { type: 'string' },
  },
})

const SUBSCRIBERS = 2_000
const CROWD = 1_000
const PER_SECOND = 200
const HEAD = 'POST /realtime HTTP/1.1\r\nHost: t\r\n'
const LARGE = `${HEAD}Content-Length: 10485760\r\n\r\n${'x'.repeat(262_144)}`
const nowMs = () => performance.now()
const say = (text: string) => process.stdout.write(`${text}\n`)

function open(port: number, first: string): Socket {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.on('error', () => undefined)
  socket.on('data', () => undefined)
  if (first !== '') socket.write(first)
  return socket
}

/** Holds a thousand connections and replaces closed ones; each sends more data every second. */
function crowd(first: string, more: string) {
  return (port: number): void => {
    const sockets = new Set<Socket>()
    const join = () => {
      const socket = open(port, first)
      sockets.add(socket)
      socket.on('close', () => {
        sockets.delete(socket)
        setTimeout(join, 100)
      })
    }
    for (let index = 0; index < CROWD; index += 1) join()
    if (more === '') return
    setInterval(() => {
      for (const socket of sockets) socket.write(more)
    }, 1_000)
  }
}

/** Two hundred connections a second, each cut a little later than the previous one. */
function hitAndRun(first: string) {
  return (port: number): void => {
    setInterval(() => {
      const socket = open(port, first)
      setTimeout(() => socket.resetAndDestroy(), 20)
    }, 1_000 / PER_SECOND)
  }
}

const attacks: Readonly<Record<string, (port: number) => void>> = {
  idle: crowd('', ''),
  'slow heads': crowd(`${HEAD}X: `, 'y'),
  'slow bodies': crowd(`${HEAD}Content-Length: 60000\r\n\r\n`, 'a'),
  'cut bodies': hitAndRun(`${HEAD}Content-Length: 60000\r\n\r\n{"record`),
  garbage: hitAndRun('\u0000\u0001garbage\r\n\r\n'),
  'bodies of 10 MB': hitAndRun(LARGE),
}

async function main(): Promise<void> {
  const connections = Number(values.connections)
  const product = await startProduct({
    environment: {
      ...DEFAULT_LIMITS,
      TOLLGATE_RECORDER_ENABLED: 'false',
      TOLLGATE_REALTIME_HTTP_SERVER: values.server,
    },
  })
  let runs = 0
  const measure = async () => {
    runs += 1
    const bodies = sessionBodies(SUBSCRIBERS, connections, `run-${runs}`)
    const durationMs = Number(values.seconds) * 1000
    const port = product.realtimePort
    const load = { port, connections, subscribers: SUBSCRIBERS, durationMs, bodies, nowMs }
    const cpuBefore = cpuMicros(product.pid('realtime'))
    const { requestsPerSecond, requests, answers } = await runLoad(load)
    const cpu = cpuMicros(product.pid('realtime')) - cpuBefore
    const others = Object.keys(answers).filter((key) => key !== '200 1')
    if (others.length > 0) throw new Error(`not granted: ${JSON.stringify(answers)}`)
    return { throughput: requestsPerSecond, cpu: cpu / requests }
  }
  try {
    const credits = [{ prepaidIncludeId: 1, amount: 1_000_000_000_000 }]
    const subscribers = { subscribers: SUBSCRIBERS, subscribersPerAccount: 1 }
    await populate({ ...product, ...subscribers, credits })
    await product.start('realtime')
    await warmSubscribers(product.realtimePort, SUBSCRIBERS)
    await measure()
    for (const name of Object.keys(attacks)) {
      const throughputs: number[] = []
      const costs: number[] = []
      for (let round = 0; round < Number(values.rounds); round += 1) {
        const before = await measure()
        const during = await underAttack(name, product.realtimePort, measure)
        const after = await measure()
        throughputs.push((2 * during.throughput) / (before.throughput + after.throughput))
        costs.push((2 * during.cpu) / (before.cpu + after.cpu))
      }
      say(`${name.padEnd(16)} throughput ${shares(throughputs)}  CPU per request ${shares(costs)}`)
    }
  } finally {
    await product.stop()
  }
}

/** Median and all values, as shares of the value without the attack. */
function shares(values: number[]): string {
  const sorted = [...values].sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  return `× ${median.toFixed(2)} (${sorted.map((value) => value.toFixed(2)).join(', ')})`
}

/** The attackers are a separate process on the same cores. */
async function underAttack<T>(name: string, port: number, work: () => Promise<T>): Promise<T> {
  const program = fileURLToPath(import.meta.url)
  const child: ChildProcess = fork(program, ['--attack', name, '--port', String(port)])
  await once(child, 'message')
  try {
    return await work()
  } finally {
    child.kill('SIGKILL')
    await once(child, 'exit')
  }
}

if (values.attack === undefined) await main()
else {
  attacks[values.attack]?.(Number(values.port))
  setTimeout(() => process.send?.('under way'), 500)
}
