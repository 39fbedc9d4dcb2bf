import { afterEach, expect, it } from 'vitest'
import { WorkerThread } from '../../src/realtime/worker-thread.ts'
import { bundled } from '../support/bundle.ts'
import { requestOf } from '../support/realtime/requests.ts'

const WORKER = await bundled('test/support/realtime/pool-worker.mjs')

const open: WorkerThread[] = []
afterEach(async () => {
  for (const thread of open.splice(0)) await thread.destroy()
})

async function threadOf() {
  const thread = new WorkerThread({
    workerFile: WORKER,
    workerData: { worker: 0 },
    loops: 1,
    onError: () => undefined,
    onEvent: () => undefined,
  })
  open.push(thread)
  await thread.started()
  const ask = async (...words: string[]) => {
    const requests = words.map((word) => requestOf(word))
    const { outcomes } = await thread.run({ requests, mayLookUp: false, deadlineMs: 0 })
    return outcomes.map((outcome) => outcome?.transactionId).join()
  }
  return { thread, ask }
}

it('returns each result to its batch, whichever ends first', async () => {
  const { ask } = await threadOf()
  const done: string[] = []
  const note = (ids: string) => done.push(ids)
  await Promise.all([ask('wait', 'a').then(note), ask('b').then(note), ask('release').then(note)])
  expect(done).toHaveLength(3)
  expect(done.indexOf('b')).toBeLessThan(done.indexOf('wait,a'))
})

it('fails only the batch that fails', async () => {
  const { ask } = await threadOf()
  const [bad, good] = await Promise.allSettled([ask('throw'), ask('good')])
  expect(bad).toMatchObject({ status: 'rejected', reason: new Error('a defect') })
  expect(good).toEqual({ status: 'fulfilled', value: 'good' })
})

it('fails batches in flight when the thread ends, and continues with the next thread', async () => {
  const { ask } = await threadOf()
  for (let round = 0; round < 2; round += 1) {
    const lost = await Promise.allSettled([ask('wait'), ask('exit'), ask('behind')])
    expect(lost.map(({ status }) => status)).toEqual(Array(3).fill('rejected'))
    expect(await ask('after')).toBe('after')
  }
})

it('fails batches in flight when it is destroyed', async () => {
  const { thread, ask } = await threadOf()
  const waiting = expect(ask('wait')).rejects.toThrow()
  await thread.destroy()
  await waiting
})
