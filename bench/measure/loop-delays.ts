/** Reads the delays written by `preload/loop-delay.ts`. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

export interface LoopDelays {
  /** Maximum of the main thread and of the worker threads, ms. */
  main: number
  workers: number
}

/** The longest recorded delays in a time range, epoch ms. */
export function loopDelays(folder: string, fromMs: number, toMs: number): LoopDelays {
  const longest: LoopDelays = { main: 0, workers: 0 }
  for (const name of readdirSync(folder)) {
    const thread = /^loop-(\d+)\.log$/.exec(name)?.[1]
    if (thread === undefined) continue
    const of = thread === '0' ? 'main' : 'workers'
    const text = readFileSync(join(folder, name), 'utf8')
    longest[of] = Math.max(longest[of], longestNoted(text, fromMs, toMs))
  }
  return longest
}

export function longestNoted(text: string, fromMs: number, toMs: number): number {
  let longest = 0
  for (const line of text.split('\n')) {
    const [atMs = 0, delayMs = 0] = line.split(' ').map(Number)
    if (atMs >= fromMs && atMs <= toMs) longest = Math.max(longest, delayMs)
  }
  return longest
}
