/** Reads that callers share. */

/**
 * Calls that arrive while a read is under way wait for the next one, which reads what all of them
 * want: the result is never older than the call.
 */
export function sharedRead<Wanted, Result>(
  read: (wanted: readonly Wanted[]) => Promise<Result>,
): (wanted: Wanted) => Promise<Result> {
  let waiting: Wanted[] = []
  let next: Promise<Result> | null = null
  let running: Promise<unknown> = Promise.resolve()
  return (wanted) => {
    waiting.push(wanted)
    next ??= running.then(() => {
      const all = waiting
      waiting = []
      next = null
      const result = read(all)
      running = result.catch(() => undefined)
      return result
    })
    return next
  }
}
