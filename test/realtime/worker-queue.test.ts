import { expect, it } from 'vitest'
import { plainOutcome } from '../../src/domain/charge-outcome.ts'
import type { WorkerResult, WorkerTask } from '../../src/domain/worker-task.ts'
import { type BatchWorker, type Pending, WorkerQueue } from '../../src/realtime/worker-queue.ts'
import { requestOf } from '../support/realtime/requests.ts'

type Call = {
  ids: string[]
  deadlineMs: number
  end: (result: WorkerResult) => void
  fail: (error: Error) => void
}

/** A worker whose batches end when the test lets them. */
function workerOf() {
  const calls: Call[] = []
  const worker: BatchWorker = {
    run: ({ requests, deadlineMs }: WorkerTask) =>
      new Promise((end, fail) => {
        calls.push({ ids: requests.map(({ sessionId }) => sessionId), deadlineMs, end, fail })
      }),
  }
  return { worker, calls }
}

function queueOf() {
  const first = workerOf()
  const events: string[] = []
  const time = { nowMs: 100 }
  const ids = (batch: readonly Pending[]) => batch.map(({ request }) => request.sessionId).join()
  const queue = new WorkerQueue(first.worker, {
    batchSizeMax: 3,
    batchesInFlightMax: 2,
    mayLookUp: false,
    elapsedMs: () => time.nowMs,
    onDropped: ({ request }) => events.push(`dropped ${request.sessionId}`),
    onBatch: (size) => events.push(`batch of ${size}`),
    onResult: (batch) => events.push(`result ${ids(batch)}`),
    onFailure: (batch) => events.push(`failure ${ids(batch)}`),
  })
  const push = (id: string, deadlineMs = 1_000): Pending => {
    const done = () => {}
    const pending: Pending = {
      request: requestOf(id),
      client: { isGone: false },
      done,
      stage: 'main',
      isLookup: false,
      isReport: false,
      deadlineMs,
      earlier: null,
      later: null,
    }
    queue.push(pending)
    return pending
  }
  return { queue, calls: first.calls, events, time, push }
}

const turn = () => new Promise((resolve) => setImmediate(resolve))
const result = (size: number): WorkerResult => ({
  outcomes: Array.from({ length: size }, () => plainOutcome('granted')),
  stats: {},
})

it('sends at the end of the turn, up to the batch size, in order', async () => {
  const { calls, push, events } = queueOf()
  for (const id of ['a', 'b', 'c', 'd']) push(id)
  expect(calls).toEqual([])
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a', 'b', 'c'], ['d']])
  expect(events).toEqual(['batch of 3', 'batch of 1'])
})

it('queues while all batches are in flight, and continues when one ends or fails', async () => {
  const { calls, push, events } = queueOf()
  push('a')
  await turn()
  push('b')
  await turn()
  for (const id of ['c', 'd']) {
    push(id)
    await turn()
  }
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b']])
  calls[0]?.end(result(1))
  await turn()
  await turn()
  push('e')
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c', 'd']])
  calls[1]?.fail(new Error('a defect'))
  await turn()
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c', 'd'], ['e']])
  expect(events.filter((event) => !event.startsWith('batch'))).toEqual(['result a', 'failure b'])
})

it('sends an empty batch as a probe while nothing is in flight', async () => {
  const { queue, calls, push, events, time } = queueOf()
  for (let count = 0; count < 2; count += 1) queue.probe(time.nowMs)
  expect(calls.map(({ ids }) => ids)).toEqual([[]])
  expect(queue.oldestMs(time.nowMs + 7)).toBe(7)
  calls[0]?.end(result(0))
  await turn()
  expect(queue.oldestMs(time.nowMs + 7)).toBe(0)
  push('a')
  await turn()
  queue.probe(time.nowMs)
  expect(calls.map(({ ids }) => ids)).toEqual([[], ['a']])
  expect(events).toEqual(['result ', 'batch of 1'])
})

it('forgets requests that were answered while they waited', async () => {
  const { queue, calls, push } = queueOf()
  for (const id of ['a', 'b']) {
    push(id)
    await turn()
  }
  const answered = [push('c'), push('d')]
  push('e')
  for (const pending of answered) pending.done = null
  queue.prune()
  calls[0]?.end(result(1))
  await turn()
  await turn()
  expect(calls[2]?.ids).toEqual(['e'])
})

it('does not send requests that are answered, late or of disconnected clients', async () => {
  const { calls, push, events, time } = queueOf()
  for (const id of ['a', 'b']) {
    push(id)
    await turn()
  }
  push('answered').done = null
  push('late', time.nowMs + 5)
  ;(push('gone').client as { isGone: boolean }).isGone = true
  for (const id of ['c', 'd', 'e', 'f']) push(id)
  time.nowMs += 5
  calls[0]?.end(result(1))
  await turn()
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c', 'd', 'e']])
  const dropped = events.filter((event) => event.startsWith('dropped'))
  expect(dropped).toEqual(['dropped answered', 'dropped late', 'dropped gone'])
  expect(calls[2]?.deadlineMs).toBe(1_000)
})

it('sends usage reports even if their client has disconnected', async () => {
  const { queue, calls, events } = queueOf()
  queue.push({
    request: requestOf('report'),
    client: { isGone: true },
    done: () => {},
    stage: 'main',
    isLookup: false,
    isReport: true,
    deadlineMs: 1_000,
    earlier: null,
    later: null,
  })
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['report']])
  expect(events).toEqual(['batch of 1'])
})

it('continues with another worker, and drops late results of the old one', async () => {
  const { queue, calls, push, events, time } = queueOf()
  expect(queue.oldestMs(time.nowMs)).toBe(0)
  push('a')
  await turn()
  time.nowMs += 50
  push('b')
  await turn()
  time.nowMs += 50
  expect(queue.oldestMs(time.nowMs)).toBe(100)
  const second = workerOf()
  queue.replace(second.worker)
  expect(queue.oldestMs(time.nowMs)).toBe(0)
  push('c')
  calls[0]?.end(result(1))
  calls[1]?.fail(new Error('worker has gone'))
  await turn()
  expect(second.calls.map(({ ids }) => ids)).toEqual([['c']])
  expect(events).toEqual(['batch of 1', 'batch of 1', 'failure a', 'failure b', 'batch of 1'])
})

it('gives up batches that were sent before a time, and sends what waits for them', async () => {
  const { queue, calls, push, events, time } = queueOf()
  push('a')
  await turn()
  time.nowMs += 50
  push('b')
  await turn()
  push('c')
  await turn()
  expect(calls).toHaveLength(2)
  queue.giveUp(time.nowMs)
  await turn()
  expect(calls.map(({ ids }) => ids)).toEqual([['a'], ['b'], ['c']])
  calls[0]?.end(result(1))
  calls[1]?.end(result(1))
  await turn()
  expect(events).toEqual(['batch of 1', 'batch of 1', 'failure a', 'batch of 1', 'result b'])
})
