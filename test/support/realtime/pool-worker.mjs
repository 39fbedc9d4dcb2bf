// A worker thread with the protocol of the product, whose thread a request can also end or block.
import { parentPort, workerData } from 'node:worker_threads'
import { packResult } from '../../../src/domain/packed-outcomes.ts'
import { unpackTask } from '../../../src/domain/worker-protocol.ts'
import { serve } from '../../../src/workers/serve.ts'
import { createPoolWork } from './pool-work.ts'

if (workerData.failsAtStart) throw new Error('no catalogue')

parentPort.postMessage({
  kind: 'skipped',
  catalogueSkipped: { rates: 3 + workerData.worker },
  entities: [],
})

const work = createPoolWork(workerData.worker)

export default ({ port }) => serve(port, workInThread)

async function workInThread(packed) {
  const task = unpackTask(packed)
  const does = (word) => task.requests.some(({ sessionId }) => sessionId.startsWith(word))
  if (does('exit')) process.exit(3)
  if (does('spin')) while (true);
  return packResult(await work(task))
}
