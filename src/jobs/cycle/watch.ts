/** Shows the newest run in the metrics of the control plane, in any process. */
import type { Metrics } from '../../runtime/metrics.ts'
import type { CycleParts } from './cycle.ts'

const EVERY_MS = 10_000

export interface CycleWatch {
  stop(): Promise<void>
}

export function watchRuns(
  { catalog, waiting, log }: Pick<CycleParts, 'catalog' | 'waiting' | 'log'>,
  metrics: Pick<Metrics, 'cycleRun'>,
  everyMs = EVERY_MS,
): CycleWatch {
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  const look = async (): Promise<void> => {
    try {
      const [run] = await catalog.cycleruns.find().sort({ changed: -1 }).limit(1).toArray()
      if (run !== undefined) metrics.cycleRun({ ...run, waiting: waiting.get(run._id) ?? '' })
    } catch (error) {
      log.warn({ err: error }, 'cannot read the newest run of the cycle')
    }
    if (!isStopped) timer = setTimeout(next, everyMs)
  }
  let running = Promise.resolve()
  const next = () => {
    running = look()
  }
  next()
  return {
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
