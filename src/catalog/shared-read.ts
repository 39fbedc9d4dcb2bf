/** Reads that callers share. */

/**
 * Calls that arrive while a read is under way wait for the next one, which reads for all of
 * them: the result is never older than the call.
 */
export function sharedRead<Query, Result>(
  read: (query: readonly Query[]) => Promise<Result>,
): (query: Query) => Promise<Result> {
  let waiting: Query[] = []
  let next: Promise<Result> | null = null
  let running: Promise<unknown> = Promise.resolve()
  return (query) => {
    waiting.push(query)
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
