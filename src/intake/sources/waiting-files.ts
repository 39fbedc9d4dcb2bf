/** The files of a source that wait, and which of them are complete. Pure. */
import { posix } from 'node:path'
import { isUnchanged, type PlaceFile } from '../../transfer/place.ts'
import type { SourceSettings } from './settings.ts'

interface Seen {
  readonly file: PlaceFile
  /** Since when it is unchanged, or when it may be attempted again. Monotonic. */
  readonly sinceMs: number
}

export class WaitingFiles {
  readonly #settings: Pick<SourceSettings, 'isNamed' | 'stableMs' | 'marker'>
  #seen = new Map<string, Seen>()
  /** Files that could not be taken, with the time of the next attempt. Monotonic. */
  readonly #postponed = new Map<string, number>()

  constructor(settings: Pick<SourceSettings, 'isNamed' | 'stableMs' | 'marker'>) {
    this.#settings = settings
  }

  /** The files that wait in a listing, and those of them that may be taken, in its order. */
  observe(
    listed: readonly PlaceFile[],
    nowMs: number,
  ): { waiting: PlaceFile[]; ready: PlaceFile[] } {
    const { isNamed, marker } = this.#settings
    const modified = new Map(listed.map(({ name, modifiedMs }) => [name, modifiedMs]))
    const isMarker = (name: string) => marker !== null && name.endsWith(marker)
    const waiting = listed.filter(({ name }) => isNamed(posix.basename(name)) && !isMarker(name))
    const seen = new Map<string, Seen>()
    for (const file of waiting) {
      const before = this.#seen.get(file.name)
      const isSame = before !== undefined && isUnchanged(before.file, file)
      seen.set(file.name, isSame ? before : { file, sinceMs: nowMs })
    }
    this.#seen = seen
    for (const name of this.#postponed.keys()) if (!seen.has(name)) this.#postponed.delete(name)
    const ready = waiting.filter(({ name, modifiedMs }) => {
      if (nowMs < (this.#postponed.get(name) ?? nowMs)) return false
      // An older one is left of an earlier file of this name.
      if (marker !== null) return (modified.get(`${name}${marker}`) ?? -1) >= modifiedMs
      return nowMs - (seen.get(name)?.sinceMs ?? nowMs) >= this.#settings.stableMs
    })
    return { waiting, ready }
  }

  postpone(name: string, untilMs: number): void {
    this.#postponed.set(name, untilMs)
  }
}

/** 0 of none. */
export function oldestMs(files: Iterable<PlaceFile>): number {
  let oldest = Number.POSITIVE_INFINITY
  for (const { modifiedMs } of files) oldest = Math.min(oldest, modifiedMs)
  return oldest === Number.POSITIVE_INFINITY ? 0 : oldest
}
