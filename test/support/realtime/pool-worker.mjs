// A worker with the protocol of the product; the session id of a request selects its behaviour.
import { parentPort, workerData } from 'node:worker_threads'
import { packResult } from '../../../src/domain/packed-outcomes.ts'
import { unpackTask } from '../../../src/domain/worker-protocol.ts'
import { serve } from '../../../src/workers/serve.ts'

if (workerData.failsAtStart) throw new Error('no catalogue')

parentPort.postMessage({
  kind: 'skipped',
  catalogueSkipped: { rates: 3 + workerData.worker },
  entities: [],
})

/** Wakes up tasks that wait in this thread: a later request may release an earlier one. */
let released = () => undefined
const release = new Promise((resolve) => {
  released = resolve
})

export default ({ port }) => serve(port, work)

async function work(task) {
  const { requests, mayLookUp, mayAsk = false } = unpackTask(task)
  const kind = mayAsk ? ', asked' : mayLookUp ? ', slow' : ''
  const does = (word) => requests.some(({ sessionId }) => sessionId.startsWith(word))
  if (does('release')) released()
  if (does('exit')) process.exit(3)
  if (does('throw')) throw new Error('a defect')
  if (does('spin')) while (true);
  if (does('wait')) await release
  if (does('ask-and-wait') && mayAsk) await release
  const outcomes = requests.map((request) => ({
    reason: 'granted',
    detail: `worker ${workerData.worker}, batch of ${requests.length}${kind}`,
    aid: Number(request.subscriberValue || 0),
    sid: 0,
    transactionId: request.sessionId,
    services: [],
    cost: 0,
    balances: null,
  }))
  if (does('miscount')) outcomes.pop()
  for (const [index, { sessionId }] of requests.entries()) {
    if (sessionId.startsWith('look-up') && !mayLookUp) outcomes[index] = null
    if (sessionId.startsWith('ask') && !mayAsk) outcomes[index] = null
  }
  const stats = { requests: requests.length, conflicts: 1, ...(does('stale') && { stale: 1 }) }
  return packResult({ outcomes, stats })
}
