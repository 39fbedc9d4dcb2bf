/** The realtime module in this process, with workers that fail on demand. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { loadConfig } from '../../../../src/config/load.ts'
import { fileTypeDefaultsOf } from '../../../../src/file-types/defaults.ts'
import { type Realtime, startRealtime } from '../../../../src/realtime/start.ts'
import { type Clock, createClock, monotonicMs } from '../../../../src/runtime/clock.ts'
import { createLogger } from '../../../../src/runtime/log.ts'
import { createMetrics } from '../../../../src/runtime/metrics.ts'
import { bundled } from '../../bundle.ts'
import { PATIENT } from '../../product/patience.ts'
import { type Fields, post, type Reply } from '../exchange.ts'
import { insistOn, startNode, type TestNode } from './node.ts'

export interface Fault {
  sessionId: string
  what: 'throws' | 'exits' | 'spins'
  /** Before or after the worker has charged the request. */
  when: 'before' | 'after'
  spinMs?: number
}

export interface FaultyNode {
  node: TestNode
  realtime: Realtime
  config: ReturnType<typeof loadConfig>
  /** The machine's clock plus the offset of `stepClock`. */
  clock: Clock
  send(body: Fields): Promise<Reply>
  insist(body: Fields): Promise<Reply>
  /** Fails once, in the first worker that processes the session. */
  arm(fault: Fault): void
  /** Sets the clock of the main thread, and of each worker from its next batch on. */
  stepClock(offsetMs: number): void
  stop(): Promise<void>
}

export async function startFaultyNode(
  subscribers: number,
  environment: Record<string, string>,
): Promise<FaultyNode> {
  const node = await startNode({ subscribers })
  const { folder, redisUrl, mongoUrl, database } = node.product
  const config = loadConfig({
    env: {
      ...PATIENT,
      TOLLGATE_DATA_DIR: folder,
      TOLLGATE_REDIS_URL: redisUrl,
      TOLLGATE_MONGO_URL: mongoUrl,
      TOLLGATE_MONGO_DATABASE: database,
      TOLLGATE_REALTIME_PORT: '0',
      TOLLGATE_DIAMETER_PORT: '0',
      TOLLGATE_LOG_LEVEL: 'silent',
      ...environment,
    },
  })
  let offsetMs = 0
  const clock = createClock({ wallMs: () => Date.now() + offsetMs, elapsedMs: monotonicMs })
  const realtime = await startRealtime({
    config,
    defaults: fileTypeDefaultsOf(config),
    log: createLogger({ name: 'test', level: 'silent' }),
    metrics: createMetrics({ node: 'test', role: 'realtime' }),
    clock,
    workerFile: await bundled('test/support/system/outages/faulty-worker.mjs'),
  })
  /** Written atomically for the workers that read it. */
  const note = (name: string, value: object) => {
    writeFileSync(join(folder, `${name}.new`), JSON.stringify(value))
    renameSync(join(folder, `${name}.new`), join(folder, name))
  }
  const send = (body: Fields) => post(realtime.port, body)
  return {
    node,
    realtime,
    config,
    clock,
    send,
    insist: (body) => insistOn(() => send(body)),
    arm: (fault) => note('fault.json', fault),
    stepClock(ms) {
      offsetMs = ms
      note('clock.json', { offsetMs })
    },
    async stop() {
      await realtime.close()
      await node.stop()
    },
  }
}
