import { describe, expect, it } from 'vitest'
import { CircuitBreaker, type CircuitState } from '../../../src/external/circuit-breaker.ts'
import { CustomerSystemError } from '../../../src/external/customers/errors.ts'
import { QueryBatcher } from '../../../src/external/customers/query-batcher.ts'

/** Calls that the test ends, with a clock of its own. */
function open({ questionsMax = 3, callsMax = 2, waitingMax = 5 } = {}) {
  let nowMs = 0
  const states: CircuitState[] = []
  const circuit = new CircuitBreaker({
    failuresMax: 3,
    openMsMin: 1000,
    openMsMax: 3000,
    elapsedMs: () => nowMs,
    onChange: (state) => states.push(state),
  })
  const calls: { questions: readonly number[]; end: (error?: Error) => void }[] = []
  const batcher = new QueryBatcher<number, string>({
    call: (questions) =>
      new Promise((resolve, reject) => {
        const answers = () => questions.map((question) => `answer ${question}`)
        const end = (error?: Error) => (error === undefined ? resolve(answers()) : reject(error))
        calls.push({ questions, end })
      }),
    questionsMax,
    callsMax,
    waitingMax,
    gatherMs: 0,
    circuit,
    onCall: () => undefined,
  })
  const ask = (question: number) =>
    batcher.ask(String(question), question).catch((error: CustomerSystemError) => error.kind)
  return {
    ask,
    calls,
    states,
    pass: (ms: number) => {
      nowMs += ms
    },
    called: (count: number) => expect.poll(() => calls.length).toBe(count),
    end: (index: number, error?: Error) => calls[index]?.end(error),
  }
}

const timeout = new CustomerSystemError('timeout', 'late')

/** Opens the circuit by failures of single questions. */
async function fail({ ask, called, end, calls }: ReturnType<typeof open>, times: number) {
  for (let time = 0; time < times; time += 1) {
    const before = calls.length
    const answer = ask(1)
    await called(before + 1)
    end(before, timeout)
    expect(await answer).toBe('timeout')
  }
}

describe('calls', () => {
  it('have up to the maximum of questions; more wait, and go together', async () => {
    const { ask, called, calls, end } = open({ waitingMax: 100 })
    const answers = [1, 2, 3, 4, 5, 6, 7, 8].map(ask)
    await called(2)
    expect(calls.map(({ questions }) => questions)).toEqual([
      [1, 2, 3],
      [4, 5, 6],
    ])
    end(1)
    await called(3)
    expect(calls[2]?.questions).toEqual([7, 8])
    end(0)
    end(2)
    expect(await Promise.all(answers)).toEqual([1, 2, 3, 4, 5, 6, 7, 8].map((n) => `answer ${n}`))
  })

  it('are not made for questions beyond the limit', async () => {
    const { ask, called, end } = open({ questionsMax: 1, callsMax: 1, waitingMax: 2 })
    const answers = [1, 2, 3, 4].map(ask)
    expect(await answers[3]).toBe('queue full')
    for (const index of [0, 1, 2]) {
      await called(index + 1)
      end(index)
    }
    expect(await Promise.all(answers.slice(0, 3))).toEqual(['answer 1', 'answer 2', 'answer 3'])
  })
})

describe('the circuit', () => {
  it('opens after failures in a row, and answers at once', async () => {
    const batcher = open()
    await fail(batcher, 3)
    expect(batcher.states).toEqual(['open'])
    expect(await batcher.ask(2)).toBe('circuit open')
    expect(batcher.calls).toHaveLength(3)
  })

  it('stays closed if successes are between the failures', async () => {
    const batcher = open()
    for (let round = 0; round < 3; round += 1) {
      await fail(batcher, 2)
      const before = batcher.calls.length
      const answer = batcher.ask(9)
      await batcher.called(before + 1)
      batcher.end(before)
      expect(await answer).toBe('answer 9')
    }
    expect(batcher.states).toEqual([])
  })

  it('lets one probe through, and refuses all others until it is answered', async () => {
    const batcher = open()
    await fail(batcher, 3)
    batcher.pass(1000)
    const probe = batcher.ask(1)
    await batcher.called(4)
    expect(batcher.states).toEqual(['open', 'half-open'])
    expect(await batcher.ask(2)).toBe('circuit open')
    batcher.end(3)
    expect(await probe).toBe('answer 1')
    expect(batcher.states).toEqual(['open', 'half-open', 'closed'])
    const next = batcher.ask(3)
    await batcher.called(5)
    batcher.end(4)
    expect(await next).toBe('answer 3')
  })

  it('stays open twice as long after a failed probe, up to a maximum', async () => {
    const batcher = open()
    await fail(batcher, 3)
    for (const openMs of [1000, 2000, 3000, 3000]) {
      batcher.pass(openMs - 1)
      expect(await batcher.ask(1)).toBe('circuit open')
      batcher.pass(1)
      await fail(batcher, 1)
    }
  })

  it('rejects waiting questions when it opens', async () => {
    const batcher = open({ questionsMax: 1, callsMax: 1, waitingMax: 10 })
    await fail(batcher, 2)
    const answers = [1, 2, 3].map(batcher.ask)
    await batcher.called(3)
    batcher.end(2, timeout)
    expect(await Promise.all(answers)).toEqual(['timeout', 'circuit open', 'circuit open'])
  })
})
