/** Keeps something running: starts it, starts it again when it ends unasked, and stops it. */
import { monotonicMs } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'

export interface Running {
  readonly pid: number | undefined
  /** Resolves, with how, when it has ended for whatever reason. */
  readonly exited: Promise<string>
  /** Bounded by itself; afterwards it has ended. */
  stop(): Promise<void>
}

export interface Keeper {
  /** Rejects if the first start fails, or `stop` was called. */
  start(): Promise<void>
  /** May be called at any time. Nothing runs when it resolves. */
  stop(): Promise<void>
}

const PAUSE_MS_MIN = 200
const PAUSE_MS_MAX = 10_000
/** What ran for so long is started again without a pause that has grown. */
const STEADY_MS = 30_000

export function createKeeper(
  name: string,
  begin: () => Promise<Running>,
  log: Pick<Logger, 'warn' | 'error'>,
): Keeper {
  let isStopping = false
  let starting: Promise<Running> | undefined
  let running: Running | undefined
  let pauseMs = PAUSE_MS_MIN
  let timer: NodeJS.Timeout | undefined

  const startOnce = async (): Promise<void> => {
    if (isStopping) throw new Error(`${name} is not started: everything stops`)
    const startedMs = monotonicMs()
    starting = begin()
    try {
      running = await starting
    } finally {
      starting = undefined
    }
    void running.exited.then((how) => {
      running = undefined
      if (isStopping) return
      if (monotonicMs() - startedMs > STEADY_MS) pauseMs = PAUSE_MS_MIN
      log.error({ part: name, how }, `${name} ended unasked and is started again`)
      startAgainLater()
    })
  }

  const startAgainLater = (): void => {
    timer = setTimeout(() => {
      startOnce().catch((error: unknown) => {
        if (isStopping) return
        log.error({ part: name, err: error }, `${name} does not start and is tried again`)
        startAgainLater()
      })
    }, pauseMs)
    pauseMs = Math.min(pauseMs * 2, PAUSE_MS_MAX)
  }

  return {
    start: startOnce,
    async stop() {
      isStopping = true
      clearTimeout(timer)
      const late = await starting?.catch(() => undefined)
      await (running ?? late)?.stop()
    },
  }
}
