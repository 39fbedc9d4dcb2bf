/** Counters of processes as rates per second. */
import type { ProcessFigures } from './process-figures.ts'

/** By key of the counter; null while no rate is known, after one publication only. */
export type Rates = ReadonlyMap<string, number> | null

interface Followed {
  readonly figures: ProcessFigures
  readonly rates: Rates
}

/**
 * Processes publish once a second, at instants of their own: a rate is the growth between two
 * publications, divided by the time between them by the clock of the process. It stays until the
 * next publication, so a sample never counts a second twice or not at all.
 */
export class ProcessRates {
  #followed = new Map<string, Followed>()

  /** Takes the newest figures of all processes and returns their rates by name. */
  update(processes: readonly ProcessFigures[]): ReadonlyMap<string, Rates> {
    const next = new Map<string, Followed>()
    for (const figures of processes) {
      next.set(figures.name, follow(this.#followed.get(figures.name), figures))
    }
    this.#followed = next
    return new Map([...next].map(([name, { rates }]) => [name, rates]))
  }

  /** Drops all figures: the next ones come too late for a rate. */
  clear(): void {
    this.#followed.clear()
  }
}

function follow(before: Followed | undefined, figures: ProcessFigures): Followed {
  const { takenMs } = figures
  const beforeMs = before?.figures.takenMs ?? null
  if (before === undefined || takenMs === null || beforeMs === null) return { figures, rates: null }
  if (takenMs === beforeMs) return before
  // Another process of the same name: it was restarted.
  if (takenMs < beforeMs) return { figures, rates: null }
  const seconds = (takenMs - beforeMs) / 1000
  const rates = new Map<string, number>()
  for (const [key, value] of figures.counters) {
    const grown = value - (before.figures.counters.get(key) ?? 0)
    rates.set(key, Math.max(0, grown) / seconds)
  }
  return { figures, rates }
}
