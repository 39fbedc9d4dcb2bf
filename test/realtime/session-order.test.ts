/** The order in which a pool sends the requests of a session to its workers. */
import { afterEach, expect, it } from 'vitest'
import { type ChargeOutcome, plainOutcome } from '../../src/domain/charge-outcome.ts'
import type { ChargeRequest } from '../../src/domain/charge-request.ts'
import type { WorkerResult, WorkerTask } from '../../src/domain/worker-task.ts'
import { type Pool, type PoolOptions, startPool } from '../../src/realtime/pool.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { requestOf } from '../support/realtime/requests.ts'
import { waitUntil } from '../support/wait.ts'

type Kind = 'start' | 'update' | 'release'

const open: Pool[] = []
afterEach(async () => {
  for (const pool of open.splice(0)) await pool.close()
})

/** A batch that a worker has received, as `session:number`; `+` on the lookup queues. */
interface Batch {
  names: string[]
  /** Answers it; requests of these numbers need a lookup. */
  end(lookups?: readonly number[]): void
  /** Answers it as dropped, because its requests are past their deadline. */
  drop(): void
  fail(): void
}

interface More {
  origin?: string
  gone?: boolean
  fields?: ChargeRequest['fields']
  /** Called when the request is answered. */
  answered?: () => void
}

async function poolOf(options: Partial<PoolOptions> = {}) {
  const batches: Batch[] = []
  const counts = { lookups: 0, dropped: 0 }
  const process = ({ requests, mayLookUp, mayAsk }: WorkerTask) =>
    new Promise<WorkerResult>((resolve, reject) => {
      const lane = mayAsk ? '++' : mayLookUp ? '+' : ''
      const names = requests.map((one) => `${one.sessionId}:${one.requestNumber}${lane}`)
      const end = (lookups: readonly number[] = []) => {
        const outcomes = requests.map(({ requestNumber }) =>
          lookups.includes(requestNumber) ? null : { ...plainOutcome('granted'), aid: 7 },
        )
        resolve({ outcomes, stats: {} })
      }
      const drop = () =>
        resolve({ outcomes: requests.map(() => plainOutcome('timedOut')), stats: {} })
      batches.push({ names, end, drop, fail: () => reject(new Error('a defect')) })
    })
  const pool = await startPool({
    workerFile: new URL('file:///none'),
    workerData: () => ({}),
    buildInline: async () => ({ process, close: async () => undefined }),
    workers: 1,
    batchSizeMax: 10,
    batchesInFlightMax: 3,
    requestTimeoutMs: 20_000,
    log: createLogger({ name: 'test', level: 'silent' }),
    onBatch: () => undefined,
    onStats: () => undefined,
    onLookup: () => {
      counts.lookups += 1
    },
    onDropped: () => {
      counts.dropped += 1
    },
    ...options,
  })
  open.push(pool)
  const answers: string[] = []
  const ask = (session: string, number: number, more: More = {}) => {
    const kind: Kind = number === 0 ? 'start' : number === 9 ? 'release' : 'update'
    const { origin = 'test', gone = false, fields = null, answered } = more
    const request = requestOf(session, { kind, requestNumber: number, origin, fields })
    const done = ({ reason }: ChargeOutcome) => {
      answers.push(`${session}:${number} ${reason}`)
      answered?.()
    }
    pool.submit(request, done, { isGone: gone })
  }
  const received = async (...expected: string[][]) => {
    await waitUntil('the batches', () => batches.length >= expected.length)
    await new Promise((resolve) => setImmediate(resolve))
    expect(batches.map(({ names }) => names)).toEqual(expected)
    return batches.at(-1) as Batch
  }
  return { ask, answers, received, counts, batches }
}

it('is that of their arrival, one at a time, and other sessions do not wait', async () => {
  const { ask, answers, received, batches } = await poolOf()
  for (const number of [0, 1, 9]) ask('a', number)
  ask('b', 4)
  ask('a', 0, { origin: 'other' })
  const first = await received(['a:0', 'b:4', 'a:0'])
  ask('c', 0)
  await received(['a:0', 'b:4', 'a:0'], ['c:0'])
  first.end()
  const second = await received(['a:0', 'b:4', 'a:0'], ['c:0'], ['a:1'])
  second.end()
  ;(await received(['a:0', 'b:4', 'a:0'], ['c:0'], ['a:1'], ['a:9'])).end()
  batches[1]?.end()
  await waitUntil('all answers', () => answers.length === 6)
  expect(answers.filter((one) => one.startsWith('a:'))).toEqual([
    'a:0 granted',
    'a:0 granted',
    'a:1 granted',
    'a:9 granted',
  ])
})

it('holds while one is looked up, and those behind it count as looked up', async () => {
  const { ask, received, counts } = await poolOf()
  for (const number of [0, 1]) ask('a', number)
  ;(await received(['a:0'])).end([0])
  const lookup = await received(['a:0'], ['a:0+'])
  expect(counts.lookups).toBe(2)
  ask('a', 9)
  expect(counts.lookups).toBe(3)
  lookup.end([0])
  ;(await received(['a:0'], ['a:0+'], ['a:0++'])).end()
  ;(await received(['a:0'], ['a:0+'], ['a:0++'], ['a:1'])).end()
  ;(await received(['a:0'], ['a:0+'], ['a:0++'], ['a:1'], ['a:9'])).end()
  expect(counts).toEqual({ lookups: 3, dropped: 0 })
})

it('sends one behind a lookup to the lookup queue first if it needs one itself', async () => {
  const { ask, received, counts } = await poolOf()
  for (const number of [0, 1]) ask('a', number)
  ;(await received(['a:0'])).end([0])
  ;(await received(['a:0'], ['a:0+'])).end()
  const second = await received(['a:0'], ['a:0+'], ['a:1'])
  ask('a', 2)
  expect(counts.lookups).toBe(2)
  second.end([1])
  const lookup = await received(['a:0'], ['a:0+'], ['a:1'], ['a:1+'])
  expect(counts.lookups).toBe(3)
  lookup.end([1])
  ;(await received(['a:0'], ['a:0+'], ['a:1'], ['a:1+'], ['a:1++'])).end()
  ;(await received(['a:0'], ['a:0+'], ['a:1'], ['a:1+'], ['a:1++'], ['a:2'])).end()
})

it('is broken by none that fails or is dropped: those behind it are not sent', async () => {
  const { ask, answers, received, counts } = await poolOf()
  for (const number of [1, 2, 3]) ask('a', number)
  ;(await received(['a:1'])).fail()
  await waitUntil('their answers', () => answers.length === 3)
  ask('b', 1)
  ask('b', 2, { gone: true })
  for (const number of [3, 4]) ask('b', number)
  ;(await received(['a:1'], ['b:1'])).end()
  await waitUntil('all answers', () => answers.length === 7)
  expect(answers).toEqual([
    ...[1, 2, 3].map((number) => `a:${number} timedOut`),
    'b:1 granted',
    ...[2, 3, 4].map((number) => `b:${number} timedOut`),
  ])
  expect(counts.dropped).toBe(5)
  for (const session of ['a', 'b']) ask(session, 5)
  ;(await received(['a:1'], ['b:1'], ['a:5', 'b:5'])).end()
})

it('is not broken by one that the worker drops', async () => {
  const { ask, answers, received } = await poolOf()
  for (const number of [1, 2]) ask('a', number)
  ;(await received(['a:1'])).drop()
  await waitUntil('both answers', () => answers.length === 2)
  expect(answers).toEqual(['a:1 timedOut', 'a:2 timedOut'])
})

it('continues after a time-out, once the worker has answered the earlier request', async () => {
  const { ask, answers, received } = await poolOf({ requestTimeoutMs: 100 })
  ask('a', 1)
  const first = await received(['a:1'])
  await waitUntil('the time-out', () => answers.length === 1)
  ask('a', 2)
  await received(['a:1'])
  first.end()
  ;(await received(['a:1'], ['a:2'])).end()
  await waitUntil('both answers', () => answers.length === 2)
  expect(answers).toEqual(['a:1 timedOut', 'a:2 granted'])
})

it.each([
  ['lookup', [[0]], ['a:0+']],
  ['customer', [[0], [0]], ['a:0+', 'a:0++']],
] as const)('ends with a %s batch that does not return', async (_, ends, further) => {
  const { ask, answers, received, counts } = await poolOf({ requestTimeoutMs: 200 })
  ask('a', 0)
  const expected = [['a:0'], ...further.map((name) => [name])]
  for (const [at, lookups] of ends.entries()) {
    ;(await received(...expected.slice(0, at + 1))).end(lookups)
  }
  const hanging = await received(...expected)
  await waitUntil('the time-out', () => answers.length === 1)
  ask('a', 1)
  await waitUntil('that of the next', () => answers.length === 2)
  await waitUntil('the end of the batch', () => counts.dropped === 1)
  ask('a', 2)
  const last = await received(...expected, ['a:2'])
  hanging.end()
  last.end()
  await waitUntil('all answers', () => answers.length === 3)
  expect(answers).toEqual(['a:0 timedOut', 'a:1 timedOut', 'a:2 granted'])
})

it('lets the repeat of a request that is dropped take its place', async () => {
  const { ask, answers, received, counts } = await poolOf({ requestTimeoutMs: 1_000 })
  ask('a', 1)
  const original = await received(['a:1'])
  await waitUntil('the time-out', () => answers.length === 1)
  for (const number of [2, 1, 3, 2]) ask('a', number)
  original.end([1])
  ;(await received(['a:1'], ['a:1'])).end([1])
  ;(await received(['a:1'], ['a:1'], ['a:1+'])).end()
  ;(await received(['a:1'], ['a:1'], ['a:1+'], ['a:2'])).end()
  await waitUntil('all answers', () => answers.length === 5)
  expect(answers).toEqual([
    'a:1 timedOut',
    'a:2 timedOut',
    'a:3 timedOut',
    'a:1 granted',
    'a:2 granted',
  ])
  expect(counts.dropped).toBe(3)
})

it('lets a repeat that is admitted once its original has failed take its place', async () => {
  const { ask, answers, received } = await poolOf()
  ask('a', 1, {
    answered: () => {
      ask('a', 1)
      ask('a', 2)
    },
  })
  ;(await received(['a:1'])).fail()
  ;(await received(['a:1'], ['a:1'])).end()
  ;(await received(['a:1'], ['a:1'], ['a:2'])).end()
  await waitUntil('all answers', () => answers.length === 3)
  expect(answers).toEqual(['a:1 timedOut', 'a:1 granted', 'a:2 granted'])
})

it('answers the repeats behind a request with its outcome, numbered or not', async () => {
  const { ask, answers, received } = await poolOf()
  for (const number of [-1, -1]) ask('b', number)
  for (const number of [1, 1, 1, 2, 1]) ask('a', number)
  ask('a', 1, { origin: 'other' })
  ;(await received(['b:-1', 'a:1', 'a:1'])).end()
  ;(await received(['b:-1', 'a:1', 'a:1'], ['a:2'])).end()
  ;(await received(['b:-1', 'a:1', 'a:1'], ['a:2'], ['a:1'])).end()
  await waitUntil('all answers', () => answers.length === 8)
})

it('compares what requests contain: another one with the same number is sent', async () => {
  const { ask, answers, received } = await poolOf()
  ask('a', 1)
  ask('a', 1, { fields: { used: '2' } })
  ;(await received(['a:1'])).end()
  ;(await received(['a:1'], ['a:1'])).end()
  await waitUntil('both answers', () => answers.length === 2)
})

it('lets the repeat of a failed request without a number take its place', async () => {
  const { ask, answers, received } = await poolOf()
  ask('a', -1)
  ask('a', -1, { fields: { used: '2' } })
  ask('a', -1)
  ;(await received(['a:-1'])).fail()
  await waitUntil('two answers', () => answers.length === 2)
  ;(await received(['a:-1'], ['a:-1'])).end()
  await waitUntil('all answers', () => answers.length === 3)
  expect(answers).toEqual(['a:-1 timedOut', 'a:-1 timedOut', 'a:-1 granted'])
})
