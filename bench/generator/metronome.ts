/**
 * Ticks below a millisecond, which timers of an event loop do not provide: a thread that mostly
 * sleeps, whereas polling would use a whole core.
 */
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'

export const TICK_MS = 0.2

const THREAD = `
const { workerData, parentPort } = require('node:worker_threads')
const { flags, tickMs } = workerData
while (Atomics.load(flags, 0) === 0) {
  Atomics.wait(flags, 0, 0, tickMs)
  if (Atomics.exchange(flags, 1, 1) === 0) parentPort.postMessage(0)
}
`

export interface Metronome {
  stop(): void
}

/**
 * Calls `onTick` every `tickMs` until it is stopped; a tick is skipped while one is pending.
 * Resolves when the thread runs: its start takes tens of milliseconds, which no load may contain.
 */
export async function startMetronome(tickMs: number, onTick: () => void): Promise<Metronome> {
  const flags = new Int32Array(new SharedArrayBuffer(8))
  const thread = new Worker(THREAD, { eval: true, workerData: { flags, tickMs } })
  thread.on('message', () => {
    Atomics.store(flags, 1, 0)
    onTick()
  })
  await once(thread, 'message')
  return {
    stop() {
      Atomics.store(flags, 0, 1)
      Atomics.notify(flags, 0)
    },
  }
}
