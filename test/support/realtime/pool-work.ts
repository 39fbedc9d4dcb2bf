import { plainOutcome } from '../../../src/domain/charge-outcome.ts'
import type { WorkerResult, WorkerTask } from '../../../src/domain/worker-task.ts'

/** How a worker of the tests processes batches: the session id of a request selects it. */
export function createPoolWork(worker: number): (task: WorkerTask) => Promise<WorkerResult> {
  /** Wakes up batches that wait: a later request may release an earlier one. */
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  return async ({ requests, mayLookUp, mayAsk = false }) => {
    const kind = mayAsk ? ', asked' : mayLookUp ? ', slow' : ''
    const does = (word: string) => requests.some(({ sessionId }) => sessionId.startsWith(word))
    if (does('release')) release()
    if (does('throw')) throw new Error('a defect')
    if (does('wait')) await released
    if (does('ask-and-wait') && mayAsk) await released
    const outcomes = requests.map(({ sessionId, subscriberValue }) => {
      if (sessionId.startsWith('look-up') && !mayLookUp) return null
      if (sessionId.startsWith('ask') && !mayAsk) return null
      return {
        ...plainOutcome('granted'),
        detail: `worker ${worker}, batch of ${requests.length}${kind}`,
        aid: Number(subscriberValue || 0),
        transactionId: sessionId,
      }
    })
    if (does('miscount')) outcomes.pop()
    const stats = { requests: requests.length, conflicts: 1, ...(does('stale') && { stale: 1 }) }
    return { outcomes, stats }
  }
}
