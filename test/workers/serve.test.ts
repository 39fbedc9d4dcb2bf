import { once } from 'node:events'
import { MessageChannel } from 'node:worker_threads'
import { afterEach, expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import { type PackedResult, packResult } from '../../src/domain/packed-outcomes.ts'
import { packTask, type ReplyMessage } from '../../src/domain/worker-protocol.ts'
import { serve } from '../../src/workers/serve.ts'

const { port1, port2 } = new MessageChannel()
afterEach(() => port1.close())

it('the worker answers each batch when it is done, also with its error', async () => {
  const ends: { resolve: (result: PackedResult) => void; reject: (error: Error) => void }[] = []
  const process = () =>
    new Promise<PackedResult>((resolve, reject) => ends.push({ resolve, reject }))
  void serve(port2, process)
  const replies: ReplyMessage[] = []
  port1.on('message', (reply) => replies.push(reply))
  for (const id of [1, 2, 3]) {
    port1.postMessage({ id, ...packTask({ requests: [], mayLookUp: false, deadlineMs: 0 }) })
  }
  while (ends.length < 3) await new Promise((resolve) => setImmediate(resolve))
  const next = async (end: () => void) => {
    const arrived = once(port1, 'message')
    end()
    await arrived
  }
  const result = packResult({ outcomes: [plainOutcome('granted')], stats: { commits: 1 } })
  await next(() => ends[2]?.resolve(result))
  await next(() => ends[0]?.reject(new Error('a defect')))
  await next(() => ends[1]?.resolve(packResult({ outcomes: [], stats: {} })))
  expect(replies).toMatchObject([
    { id: 3, texts: result.texts, stats: { commits: 1 } },
    { id: 1, error: new Error('a defect') },
    { id: 2, stats: {} },
  ])
})
