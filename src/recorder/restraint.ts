/**
 * Leaves the processor to charging: the recorder rests between pieces of its work while others use
 * most of the machine that it runs on. Where they do not, such as on a machine of its own, it works
 * at full speed.
 */
import { readFileSync } from 'node:fs'
import { cpus } from 'node:os'
import { setTimeout as delay } from 'node:timers/promises'
import { type Backlog, backlogPercent } from '../ledger/backlog.ts'
import { monotonicMs } from '../runtime/clock.ts'

export interface Restraint {
  /** Between two pieces of work. */
  rest(): Promise<void>
  /** All entries have been read, or the stores were unavailable: discards what was observed. */
  begin(): void
  /** Once a second. */
  observe(backlog: Backlog): void
}

export const NO_RESTRAINT: Restraint = {
  rest: () => Promise.resolve(),
  begin: () => undefined,
  observe: () => undefined,
}

/** `fullSpeedPercent`: share of Redis' memory from which a backlog is recorded at full speed. */
export function createRestraint(fullSpeedPercent: number): Restraint {
  const cores = Math.max(1, cpus().length)
  const share = new ProcessorShare({ cores, fullSpeedPercent }, idleMs)
  return {
    async rest() {
      const { user, system } = process.cpuUsage()
      const forMs = share.restMs(monotonicMs(), (user + system) / 1_000)
      if (forMs > 0) await delay(forMs)
    },
    begin: () => share.begin(monotonicMs()),
    observe: (backlog) => share.observe(backlog, monotonicMs()),
  }
}

/**
 * Idle time of all cores since the start of the machine, with waits for disks. `cpus()` also reads
 * the frequency of each core, which takes milliseconds on some machines.
 */
function idleMs(): number {
  let text: string
  try {
    text = readFileSync('/proc/stat', 'utf8')
  } catch {
    return cpus().reduce((sum, { times }) => sum + times.idle, 0)
  }
  const [, , , , idle = 0, disk = 0] = (text.split('\n', 1)[0] ?? '').split(/ +/).map(Number)
  return (idle + disk) * TICK_MS
}

/** Unit of /proc/stat. */
const TICK_MS = 10

/**
 * The part of all cores that recorder and store may always use: at the highest lasting load they
 * need a quarter.
 */
const LEAST_PART = 0.3
/** Processor time of the store, per unit of that of the recorder. */
const STORE_FACTOR = 0.5
/**
 * If others use less than this part of all cores, the recorder works at full speed; otherwise it
 * leaves as much idle for them.
 */
const IDLE_PART = 0.25
const LOOK_MS = 250
/** The recorder may run ahead of its share by this processor time, and is set back by as much. */
const DEBT_MS_MAX = 50
/** A backlog that has not become shorter for this time needs more than the least part. */
const GROWING_MS = 15_000

interface ShareSettings {
  cores: number
  fullSpeedPercent: number
}

/** Bounds the processor time of the recorder. All times are values of one monotonic clock. */
export class ProcessorShare {
  readonly #settings: ShareSettings
  readonly #idleMs: () => number
  /** In cores, for this process; the least share before anything is known. */
  #share: number
  #debtMs = 0
  #last = { atMs: 0, ownMs: 0 }
  #look: { atMs: number; ownMs: number; idleMs: number } | undefined
  #leastBytes = Number.POSITIVE_INFINITY
  #leastAtMs = 0
  #isGrowing = false
  #isLarge = false

  /** `idleMs`: idle time of all cores. */
  constructor(settings: ShareSettings, idleMs: () => number) {
    this.#settings = settings
    this.#idleMs = idleMs
    this.#share = this.#leastShare
  }

  /** How long to rest now; `ownMs`: processor time of this process since its start. */
  restMs(nowMs: number, ownMs: number): number {
    this.#adapt(nowMs, ownMs)
    const allowedMs = this.#share * (nowMs - this.#last.atMs)
    const debtMs = this.#debtMs + ownMs - this.#last.ownMs - allowedMs
    this.#debtMs = Math.min(DEBT_MS_MAX, Math.max(-DEBT_MS_MAX, debtMs))
    this.#last = { atMs: nowMs, ownMs }
    if (this.#isGrowing || this.#isLarge) return 0
    return Math.max(0, this.#debtMs / this.#share)
  }

  begin(nowMs: number): void {
    this.#isGrowing = false
    this.#leastBytes = Number.POSITIVE_INFINITY
    this.#leastAtMs = nowMs
  }

  observe(backlog: Backlog, nowMs: number): void {
    const { streamBytes } = backlog
    this.#isLarge = backlogPercent(backlog) >= this.#settings.fullSpeedPercent
    if (streamBytes < this.#leastBytes) {
      this.#leastBytes = streamBytes
      this.#leastAtMs = nowMs
    } else if (nowMs - this.#leastAtMs >= GROWING_MS) this.#isGrowing = true
  }

  get #leastShare(): number {
    return (LEAST_PART * this.#settings.cores) / (1 + STORE_FACTOR)
  }

  /** The share is all that others do not use, without the part that stays idle for them. */
  #adapt(nowMs: number, ownMs: number): void {
    const before = this.#look
    if (before !== undefined && nowMs - before.atMs < LOOK_MS) return
    const look = { atMs: nowMs, ownMs, idleMs: this.#idleMs() }
    this.#look = look
    if (before === undefined) return
    const { cores } = this.#settings
    const forMs = nowMs - before.atMs
    const ownCores = (ownMs - before.ownMs) / forMs
    const idleCores = (look.idleMs - before.idleMs) / forMs
    const free = idleCores + ownCores * (1 + STORE_FACTOR)
    const headroom = cores - free < IDLE_PART * cores ? 0 : IDLE_PART * cores
    this.#share = Math.max(this.#leastShare, (free - headroom) / (1 + STORE_FACTOR))
  }
}
