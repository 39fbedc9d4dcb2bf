import { monotonicMs } from './clock.ts'
import type { Logger } from './log.ts'

/** The part of `process` that is used; tests provide their own. */
export type ShutdownHost = {
  on(event: string, listener: (argument: unknown) => void): unknown
  exit(code: number): void
}

export type ShutdownOptions = {
  /** Time limit of the whole shutdown, ms. */
  readonly timeoutMs: number
  readonly log: Pick<Logger, 'info' | 'warn' | 'error' | 'fatal'>
  readonly host?: ShutdownHost
}

export type Shutdown = {
  /**
   * Adds a step. Steps run in reverse order of adding: what was opened last closes first. `share`
   * (0 to 1) limits a step to that part of the remaining time, so that a hanging step leaves time
   * for the following ones; the last step may use all of it.
   */
  add(name: string, step: () => void | Promise<void>, share?: number): void
  /**
   * Runs the steps once: later calls wait for the same run. Resolves to the names of the steps that
   * failed or timed out; never rejects.
   */
  run(reason: string): Promise<readonly string[]>
  /**
   * From now on SIGTERM and SIGINT run the steps and exit (with 1 if a step failed or timed out,
   * otherwise 0), an uncaught defect does so with 1, and a second signal exits immediately with 1.
   */
  listen(): void
  /** Reports an unrecoverable failure: ends the process like an uncaught defect. */
  fail(error: unknown, what: string): void
}

type Step = {
  readonly name: string
  readonly run: () => void | Promise<void>
  readonly share: number
}

const SHARE = 0.5

const SIGNALS = ['SIGTERM', 'SIGINT'] as const
const DEFECTS = ['uncaughtException', 'unhandledRejection'] as const

/** Ordered shutdown of a process within a time limit. */
export function createShutdown(options: ShutdownOptions): Shutdown {
  const { log, host = process } = options
  const steps: Step[] = []
  let running: Promise<readonly string[]> | undefined

  const run = (reason: string): Promise<readonly string[]> => {
    running ??= runSteps(steps.toReversed(), reason, options)
    return running
  }

  let hasDefect = false
  let isEnding = false
  const end = async (reason: string): Promise<void> => {
    isEnding = true
    const left = await run(reason)
    host.exit(left.length > 0 || hasDefect ? 1 : 0)
  }
  const fail = (error: unknown, what: string): void => {
    log.fatal({ err: error }, what)
    hasDefect = true
    void end(what)
  }

  return {
    add(name, step, share = SHARE) {
      steps.push({ name, run: step, share })
    },
    run,
    listen() {
      for (const signal of SIGNALS) {
        host.on(signal, () => {
          if (isEnding) {
            log.error({ signal }, 'second signal: exit without waiting')
            host.exit(1)
          } else void end(signal)
        })
      }
      for (const defect of DEFECTS) host.on(defect, (error) => fail(error, defect))
    },
    fail,
  }
}

async function runSteps(
  steps: readonly Step[],
  reason: string,
  { timeoutMs, log }: ShutdownOptions,
): Promise<readonly string[]> {
  const endMs = monotonicMs() + timeoutMs
  const left: string[] = []
  log.info({ reason }, 'shutdown begins')
  for (const [index, step] of steps.entries()) {
    const remainingMs = endMs - monotonicMs()
    const share = index === steps.length - 1 ? 1 : step.share
    const boundMs = Math.max(0, remainingMs * share)
    try {
      const isDone = await within(boundMs, step)
      if (isDone) continue
      log.warn({ step: step.name, boundMs: Math.round(boundMs) }, 'shutdown step hangs, skipped')
    } catch (error) {
      log.error({ step: step.name, err: error }, 'shutdown step failed')
    }
    left.push(step.name)
  }
  log.info({ reason, left }, 'shutdown ends')
  return left
}

/** Whether a step completed within its limit; rejects with its error. */
async function within(boundMs: number, step: Step): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined
  const bound = new Promise<false>((resolve) => {
    timer = setTimeout(() => resolve(false), boundMs)
  })
  const done = (async () => {
    await step.run()
    return true as const
  })()
  try {
    return await Promise.race([done, bound])
  } finally {
    clearTimeout(timer)
  }
}
