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

/** Pauses of one kind in a time range: number, mean and maximum, ms. */
export interface Collections {
  count: number
  meanMs: number
  longestMs: number
}

/** Recorded pauses of the garbage collector in a time range, epoch ms, by thread and kind. */
export function collectionsIn(
  folder: string,
  thread: 'main' | 'workers',
  kind: 'scavenge' | 'compact',
  [fromMs, toMs]: readonly [number, number],
): Collections {
  const pauses: number[] = []
  for (const name of readdirSync(folder)) {
    const number = /^gc-(\d+)\.log$/.exec(name)?.[1]
    if (number === undefined || (number === '0') !== (thread === 'main')) continue
    for (const line of readFileSync(join(folder, name), 'utf8').split('\n')) {
      const [atMs, tookMs, of] = line.split(' ')
      if (of === kind && Number(atMs) >= fromMs && Number(atMs) <= toMs) pauses.push(Number(tookMs))
    }
  }
  const sum = pauses.reduce((total, one) => total + one, 0)
  const meanMs = sum / Math.max(1, pauses.length)
  return { count: pauses.length, meanMs, longestMs: Math.max(0, ...pauses) }
}
