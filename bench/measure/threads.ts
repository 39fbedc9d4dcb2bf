/** Processor time of a process by its threads, by the kernel's accounts (Linux only). */
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Threads that Node makes before any of ours: after the main one those of V8, which collect
 * garbage and compile beside it, and one for the debugger.
 */
const HELPERS_OF_V8 = 6

export interface CpuOfNode {
  /** µs: the main thread, all worker threads together, the helpers of V8. */
  main: number
  workers: number
  helpers: number
}

/** µs so far of each thread, in the order in which they were made. */
export function threadMicros(pid: number): number[] {
  const threads = readdirSync(`/proc/${pid}/task`).map(Number)
  threads.sort((a, b) => Number(b === pid) - Number(a === pid) || a - b)
  return threads.map((thread) => {
    const file = `/proc/${pid}/task/${thread}/schedstat`
    return Number(readFileSync(file, 'utf8').split(' ')[0]) / 1000
  })
}

/** µs so far of a Node process. */
export function cpuOfNode(pid: number): CpuOfNode {
  const all = threadMicros(pid)
  return {
    main: all[0] ?? 0,
    helpers: sum(all.slice(1, 1 + HELPERS_OF_V8)),
    workers: sum(all.slice(1 + HELPERS_OF_V8)),
  }
}

/** µs so far of all threads. */
export function cpuOf(pid: number): number {
  return sum(threadMicros(pid))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
