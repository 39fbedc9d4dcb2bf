/**
 * Maximum throughput of the HTTP server and of Redis, in the same run and with the same generator.
 */
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { performance } from 'node:perf_hooks'
import { fileURLToPath } from 'node:url'
import type { Generator } from '../generator/generator.ts'
import type { Bench } from '../scenario.ts'
import { windowOf } from './load.ts'
import { withOwnRedis } from './own-redis.ts'
import { measureScript, measureSmallestScript } from './raw-script.ts'
import { cpuOf } from './threads.ts'

export interface Ceiling {
  perSecond: number
  /** µs per request, of the process itself and of the generator. */
  cpu: number
  generator: number
}

export interface Echo {
  port: number
  pid: number
  close(): Promise<void>
}

/** The same HTTP server in its own process, which parses a body and answers immediately. */
export async function startEcho(): Promise<Echo> {
  const extension = import.meta.url.endsWith('.ts') ? 'ts' : 'js'
  const program = fileURLToPath(new URL(`../echo-server.${extension}`, import.meta.url))
  const child: ChildProcess = fork(program)
  const [message] = (await once(child, 'message')) as [{ port: number }]
  return {
    port: message.port,
    pid: child.pid ?? 0,
    async close() {
      child.disconnect()
      await once(child, 'exit')
    },
  }
}

/** A closed loop against the echo server, or an open one with a rate. */
export async function measureEcho(
  bench: Bench,
  generator: Generator,
  perSecond = 0,
): Promise<Ceiling> {
  const { connections, subscribers, seconds } = bench.settings
  const echo = await startEcho()
  try {
    const sizes = { connections, outstanding: connections, sessions: connections * 16 }
    const flow = {
      name: 'echo',
      protocol: 'json' as const,
      port: echo.port,
      gaps: perSecond === 0 ? ('even' as const) : ('random' as const),
      ...sizes,
      firstSubscriber: 0,
      subscribers,
    }
    await generator.run({ ...flow, phases: [{ perSecond: 0, seconds: Math.min(1, seconds / 2) }] })
    const before = cpuOf(echo.pid)
    const window = windowOf(
      await generator.run({ ...flow, phases: [{ perSecond, seconds: Math.min(3, seconds) }] }),
    )
    const cpu = (cpuOf(echo.pid) - before) / window.answered
    return { perSecond: window.perSecond, cpu, generator: window.cpu.generator }
  } finally {
    await echo.close()
  }
}

export type RawScript = Pick<Ceiling, 'perSecond' | 'cpu'>

/** Calls per second of the commit with one request each, with two pipelines of 64 calls. */
export function measureRawScript(seconds: number): Promise<RawScript> {
  return measureOnOwnRedis(seconds, measureScript)
}

/** The same of the smallest script that keeps a version. */
export function measureRawVersion(seconds: number): Promise<RawScript> {
  return measureOnOwnRedis(seconds, measureSmallestScript)
}

function measureOnOwnRedis(seconds: number, measure: typeof measureScript): Promise<RawScript> {
  return withOwnRedis(({ url, pid }) =>
    measure(url, { seconds, nowMs: () => performance.now(), cpuMicros: () => cpuOf(pid) }),
  )
}
