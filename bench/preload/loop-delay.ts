/**
 * Loaded into the product before it starts (NODE_OPTIONS=--import): every thread of the charging
 * process, or of the role BENCH_LOOP_ROLE, writes the longest delay of its event loop, four times a
 * second, and each pause of its garbage collector, to files of its own in BENCH_LOOP_DIR.
 */
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import {
  constants,
  monitorEventLoopDelay,
  type PerformanceEntry,
  PerformanceObserver,
  performance,
} from 'node:perf_hooks'
import { isMainThread, threadId } from 'node:worker_threads'

interface Collection extends PerformanceEntry {
  detail?: { kind?: number }
}

const NOTE_MS = 250
const RESOLUTION_MS = 2
const ROLE = process.env['BENCH_LOOP_ROLE'] ?? 'realtime'
// Threads have a copy of the environment of the thread that started them, but not its arguments.
if (isMainThread && !process.argv.includes(ROLE)) process.env['BENCH_LOOP_DIR'] = ''
const folder = process.env['BENCH_LOOP_DIR'] ?? ''

if (folder !== '') {
  const delay = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  delay.enable()
  const file = join(folder, `loop-${threadId}.log`)
  const note = () => {
    // The waiting time of the timer itself is not a delay.
    const longestMs = Math.max(0, delay.max / 1e6 - RESOLUTION_MS)
    delay.reset()
    appendFileSync(file, `${Date.now()} ${longestMs.toFixed(2)}\n`)
  }
  setInterval(note, NOTE_MS).unref()
  const collections = join(folder, `gc-${threadId}.log`)
  const names = new Map([
    [constants.NODE_PERFORMANCE_GC_MINOR, 'scavenge'],
    [constants.NODE_PERFORMANCE_GC_MAJOR, 'compact'],
  ])
  new PerformanceObserver((list) => {
    const lines = (list.getEntries() as Collection[]).flatMap(({ startTime, duration, detail }) => {
      const name = names.get(detail?.kind ?? 0)
      const atMs = Math.round(performance.timeOrigin + startTime)
      return name === undefined ? [] : [`${atMs} ${duration.toFixed(2)} ${name}\n`]
    })
    if (lines.length > 0) appendFileSync(collections, lines.join(''))
  }).observe({ entryTypes: ['gc'] })
}
