// A worker that answers nothing between 'hold' and 'go', which arrive on a channel of that name.
// It acknowledges 'hold', and 'ask' at any time.
import { packResult } from '../../../src/domain/packed-outcomes.ts'
import { unpackTask } from '../../../src/domain/worker-protocol.ts'
import { serve } from '../../../src/workers/serve.ts'

const channel = new BroadcastChannel('held-worker')
let going = Promise.resolve()
let go = () => undefined

channel.onmessage = ({ data }) => {
  if (data === 'go') go()
  else if (data === 'hold') {
    going = new Promise((resolve) => {
      go = resolve
    })
    channel.postMessage('holds')
  } else if (data === 'ask') channel.postMessage('answers')
}
channel.unref()

export default ({ port }) => serve(port, work)

async function work(task) {
  const { requests } = unpackTask(task)
  await going
  const outcomes = requests.map(({ sessionId }) => ({
    ...{ reason: 'granted', detail: '', aid: 1, sid: 1, transactionId: sessionId },
    ...{ services: [], balances: null },
  }))
  return packResult({ outcomes, stats: {} })
}
