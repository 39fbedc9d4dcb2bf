/**
 * Closed loop: each connection sends its next request after the previous answer. Latency is that of
 * the closed loop, without correction for the queue of an open loop.
 */
import { Client } from '../test/support/product/charge-client.ts'
import { FIRST_SID } from '../test/support/product/population.ts'

export interface LoadOptions {
  port: number
  connections: number
  subscribers: number
  durationMs: number
  /** Bodies to send: those of a session, or always the same one. */
  bodies: (connection: number) => () => string
  nowMs: () => number
}

export interface LoadResult {
  requests: number
  seconds: number
  requestsPerSecond: number
  /** Milliseconds. */
  p50: number
  p99: number
  p999: number
  /** Answers by HTTP status and return code. */
  answers: Record<string, number>
}

export async function runLoad(options: LoadOptions): Promise<LoadResult> {
  const latencies: number[] = []
  const answers: Record<string, number> = {}
  const started = options.nowMs()
  const until = started + options.durationMs
  const connection = async (index: number) => {
    const client = new Client(options.port)
    const next = options.bodies(index)
    let before = options.nowMs()
    while (before < until) {
      const { status, body } = await client.post(next())
      const after = options.nowMs()
      latencies.push(after - before)
      before = after
      const key = `${status} ${returnCodeOf(body)}`
      answers[key] = (answers[key] ?? 0) + 1
    }
    client.close()
  }
  await Promise.all(Array.from({ length: options.connections }, (_, index) => connection(index)))
  const seconds = (options.nowMs() - started) / 1000
  latencies.sort((a, b) => a - b)
  const at = (share: number) => latencies[Math.floor(latencies.length * share)] ?? 0
  return {
    requests: latencies.length,
    seconds,
    requestsPerSecond: latencies.length / seconds,
    p50: at(0.5),
    p99: at(0.99),
    p999: at(0.999),
    answers,
  }
}

/**
 * Sends a pretended start of every subscriber, so that a node with warm caches is measured, and not
 * its first contact with each subscriber. `first`: their first number; `atOnce`: connections.
 */
export async function warmSubscribers(
  port: number,
  subscribers: number,
  { first = FIRST_SID, atOnce = 64 } = {},
): Promise<void> {
  let next = 0
  const walk = async () => {
    const client = new Client(port)
    while (next < subscribers) {
      const sid = first + next
      next += 1
      const service = '"usaget":"data","usagev":1,"pretend":true'
      await client.post(
        `{"record_type":"start_request","session_id":"meet-${sid}","sid":${sid},${service}}`,
      )
    }
    client.close()
  }
  await Promise.all(Array.from({ length: atOnce }, walk))
}

function returnCodeOf(body: string): string {
  const at = body.indexOf('"returnCode":')
  return at < 0 ? '' : (/^-?\d+/.exec(body.slice(at + 13))?.[0] ?? '')
}

const MIB = 1024 * 1024
const UPDATES = 10

/**
 * Sessions of 1 start, 10 updates and 1 release. Each connection has its own subscribers, so that
 * no two connections share a session.
 */
export function sessionBodies(
  subscribers: number,
  connections: number,
  run: string,
): (connection: number) => () => string {
  return (connection) => {
    let subscriber = connection
    let session = 0
    let step = 0
    return () => {
      const sid = FIRST_SID + subscriber
      const id = `"session_id":"${run}-${connection}-${session}","request_num":${step}`
      const volumes = `"usaget":"data","rating_group":10,"usagev":${10 * MIB}`
      if (step === 0) {
        step = 1
        return `{"record_type":"start_request",${id},"sid":${sid},${volumes}}`
      }
      const used = `"used_usagev":${7 * MIB}`
      if (step <= UPDATES) {
        step += 1
        return `{"record_type":"update_request",${id},"sid":${sid},${volumes},${used}}`
      }
      step = 0
      session += 1
      subscriber = (subscriber + connections) % subscribers
      return `{"record_type":"release_request",${id},"sid":${sid},${volumes},${used}}`
    }
  }
}
