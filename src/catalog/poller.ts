/** Polls MongoDB, and keeps polling during outages. */
import type { Logger } from '../runtime/log.ts'

export interface Poller {
  /**
   * Polls immediately, then every `pollMs`. Returns false if MongoDB is unavailable; polling
   * continues.
   */
  start(): Promise<boolean>
  /** Resolves when no poll is running any more. */
  stop(): Promise<void>
  /**
   * Runs a poll that starts after this call. Returns false if MongoDB is unavailable. Never
   * rejects.
   */
  pollNow(): Promise<boolean>
}

/**
 * Calls `poll`, which reads from MongoDB, periodically and never concurrently. The start and the
 * end of a series of failures are logged.
 */
export function createPoller(
  pollMs: number,
  poll: () => Promise<void>,
  texts: { failing: string; recovered: string },
  log: Logger,
): Poller {
  let timer: NodeJS.Timeout | undefined
  let isStopped = true
  let isFailing = false
  let running: Promise<boolean> | null = null
  let next: Promise<boolean> | null = null

  const once = async (): Promise<boolean> => {
    try {
      await poll()
      if (isFailing) log.info(texts.recovered)
      isFailing = false
    } catch (err) {
      if (!isFailing) log.warn({ err }, texts.failing)
      isFailing = true
    }
    return !isFailing
  }

  const begin = (): Promise<boolean> => {
    const current = once().finally(() => {
      if (running === current) running = null
    })
    running = current
    return current
  }

  const pollNow = (): Promise<boolean> => {
    if (running === null) return begin()
    // The running poll may have read before the change that the caller is aware of.
    next ??= running.then(() => {
      next = null
      return begin()
    })
    return next
  }

  const schedule = (): void => {
    if (isStopped) return
    timer = setTimeout(() => pollNow().then(schedule), pollMs)
    timer.unref()
  }

  return {
    async start() {
      isStopped = false
      const isLoaded = await pollNow()
      schedule()
      return isLoaded
    },
    async stop() {
      isStopped = true
      clearTimeout(timer)
      while (running !== null || next !== null) await (next ?? running)
    },
    pollNow,
  }
}
