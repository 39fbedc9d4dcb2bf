/**
 * Ends the process if its event loop hangs: for a worker on the event loop, which cannot be
 * replaced. `tollgate start` then starts charging again, by its standby if there is one.
 */
import { Worker } from 'node:worker_threads'

export interface HangWatch {
  close(): Promise<void>
}

/** Beats within the limit. */
const BEATS = 8
/** Cells of the shared memory: beats so far; 1 if the thread is to end. */
const [BEAT, END] = [0, 1] as const

/**
 * Waits for beats. After a pause of the whole process (SIGSTOP) the limit may have passed before
 * the event loop could run: therefore it waits for one more beat.
 */
const WATCHER = `
const { workerData: { memory, limitMs, beatMs } } = require('node:worker_threads')
const { writeSync } = require('node:fs')
const cells = new Int32Array(memory)
const isSilent = (beat, ms) => Atomics.wait(cells, ${BEAT}, beat, ms) === 'timed-out'
while (Atomics.load(cells, ${END}) === 0) {
  const beat = Atomics.load(cells, ${BEAT})
  if (!isSilent(beat, limitMs) || !isSilent(beat, 2 * beatMs)) continue
  writeSync(2, 'tollgate: the event loop of charging hangs; the process is ended\\n')
  process.kill(process.pid, 'SIGKILL')
}
`

/** `limitMs`: the longest time for which the event loop may not run. */
export function watchForHangs(limitMs: number): HangWatch {
  const memory = new SharedArrayBuffer(2 * Int32Array.BYTES_PER_ELEMENT)
  const cells = new Int32Array(memory)
  const beatMs = Math.ceil(limitMs / BEATS)
  // The options of this process are dropped: they may load modules.
  const options = { eval: true, execArgv: [], env: {} }
  const watcher = new Worker(WATCHER, { ...options, workerData: { memory, limitMs, beatMs } })
  watcher.unref()
  const beat = () => {
    Atomics.add(cells, BEAT, 1)
    Atomics.notify(cells, BEAT)
  }
  const timer = setInterval(beat, beatMs)
  timer.unref()
  return {
    async close() {
      clearInterval(timer)
      Atomics.store(cells, END, 1)
      beat()
      await watcher.terminate()
    },
  }
}
