/** Looking at MongoDB again and again, whether it is there or not. */
import type { Logger } from '../runtime/log.ts'

export interface Poller {
  /** Polls at once, then every `pollMs`. False: MongoDB is away, and it goes on trying. */
  start(): Promise<boolean>
  /** No poll is under way when it resolves. */
  stop(): Promise<void>
  /** A poll that begins after this call. False if MongoDB is away. Never rejects. */
  pollNow(): Promise<boolean>
}

/**
 * Does `poll`, which reads from MongoDB, now and then, one at a time. That it fails is logged when
 * it begins and when it ends.
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
    // What is running may have read before the change that the caller knows of.
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
