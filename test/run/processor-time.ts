/** Set-up of each test file: measures its processor time for the budget reporter. */
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll } from 'vitest'

declare module 'vitest' {
  interface TaskMeta {
    processor?: ProcessorTime
  }
}

/** Processor time, own and of ended child processes, in ms. */
export interface ProcessorTime {
  /** Until the first test: modules of the file, unless the worker has them already. */
  imports: number
  tests: number
  /** A fixed computation, which tells how fast this machine is at this moment. */
  calibration: number
}

/** Unit of the counters in /proc, in ms: Linux reports them in hundredths of a second. */
const TICK_MS = 10
const CALIBRATION_STEPS = 1_000_000

// Loads the fetch of Node before the package undici, which would replace its agent by one that
// opens a connection for nearly each request (undici 7.30, sequential calls of many forms).
void globalThis.Headers

const begin = spent()
let afterImports = begin

beforeAll(() => {
  afterImports = spent()
})

// The first hook of the file is the last to run: after those that end processes.
// biome-ignore lint/correctness/noEmptyPattern: vitest reads the names of fixtures from it
afterAll(({}, { file }) => {
  const end = spent()
  file.meta.processor = {
    imports: afterImports - begin,
    tests: end - afterImports,
    calibration: calibrate(),
  }
})

function spent(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + endedChildren()
}

/** Children that a killed process left behind are not counted: init reaps them. */
function endedChildren(): number {
  if (process.platform !== 'linux') return 0
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[13]) + Number(fields[14])) * TICK_MS
}

function calibrate(): number {
  const from = process.cpuUsage()
  let hash = 1
  for (let step = 0; step < CALIBRATION_STEPS; step += 1) {
    hash = Math.imul(hash ^ (step & 0xff), 0x01000193)
  }
  const { user, system } = process.cpuUsage(from)
  return hash === 0 ? 0 : (user + system) / 1000
}
