/** Processor time of a process by thread, from the kernel's accounts (Linux only). */
import { readdirSync, readFileSync } from 'node:fs'

/**
 * Threads that Node creates before those of the product: after the main thread those of V8, for
 * garbage collection and compilation, and one for the debugger.
 */
const HELPERS_OF_V8 = 6

export interface CpuOfNode {
  /** µs of the main thread, of all worker threads, and of the V8 helpers. */
  main: number
  workers: number
  helpers: number
}

/** µs so far of each thread, in order of creation. */
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

/** µs so far, over all threads. */
export function cpuOf(pid: number): number {
  return sum(threadMicros(pid))
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0)
}
