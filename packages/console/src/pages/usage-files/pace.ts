/** How fast files go, by what was read from them in the last half minute. */
import type { UsageFile } from './data.ts'

const WINDOW_MS = 30_000

interface Sample {
  readonly atMs: number
  readonly records: number
  readonly bytes: number
}

export interface FilePace {
  /** How much of its bytes is done. */
  readonly percent: number
  /** Records per second; null until they are known, and while nothing goes on. */
  readonly perSecond: number | null
  /** Until the end of the file, at this pace. */
  readonly leftSeconds: number | null
}

type Measured = Pick<UsageFile, 'file' | 'size' | 'offset' | 'read'>

/** Measured from reads: a file that was continued by another process counts from then on. */
export class FilePaces {
  readonly #samples = new Map<string, readonly Sample[]>()

  note({ file, read, offset }: Measured, atMs: number): void {
    const sample = { atMs, records: Number(read), bytes: Number(offset) }
    const earlier = this.#samples.get(file) ?? []
    this.#samples.set(file, [...earlier.filter((one) => atMs - one.atMs <= WINDOW_MS), sample])
  }

  of({ file, size, offset }: Measured): FilePace {
    const samples = this.#samples.get(file) ?? []
    const [first, last] = [samples[0], samples.at(-1)]
    const whole = Number(size)
    const percent = whole === 0 ? 100 : Math.floor((Number(offset) / whole) * 100)
    if (first === undefined || last === undefined) return { percent, ...UNKNOWN }
    const seconds = (last.atMs - first.atMs) / 1000
    const [records, bytes] = [last.records - first.records, last.bytes - first.bytes]
    if (seconds <= 0 || bytes <= 0) return { percent, ...UNKNOWN }
    const left = (whole - Number(offset)) / (bytes / seconds)
    return { percent, perSecond: records / seconds, leftSeconds: Math.ceil(left) }
  }
}

const UNKNOWN = { perSecond: null, leftSeconds: null } as const
