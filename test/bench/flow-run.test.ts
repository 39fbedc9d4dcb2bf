import { describe, expect, it } from 'vitest'
import { FlowRun } from '../../bench/generator/flow-run.ts'
import { histogramOf } from '../../bench/generator/histogram.ts'
import type { Flow } from '../../bench/generator/job.ts'
import type { Link } from '../../bench/generator/link.ts'
import { SessionRing } from '../../bench/generator/session-ring.ts'
import { answerNumber } from '../../bench/generator/tally.ts'
import { waitUntil } from '../support/wait.ts'

const GRANTED = answerNumber(200, 1)

/** One connection, which answers when the test decides. */
function oneSlot(phases: Flow['phases']) {
  const sent: number[] = []
  const link: Link = {
    slots: 1,
    open: () => Promise.resolve(),
    send: (slot) => {
      sent.push(slot)
    },
    abandon: () => undefined,
    close: () => undefined,
  }
  const flow: Flow = {
    name: 'test',
    protocol: 'json',
    port: 0,
    connections: 1,
    outstanding: 1,
    firstSubscriber: 0,
    subscribers: 9,
    sessions: 9,
    gaps: 'even',
    phases,
  }
  const run = new FlowRun(flow, new SessionRing({ sessions: 9, subscribers: 9 }), link)
  return { run, sent }
}

describe('a request of an open loop that is sent late', () => {
  it('has waited for the server if no connection was free', async () => {
    // Due at 10 and 20 ms; the only connection is busy with the first request until 60 ms.
    const { run, sent } = oneSlot([{ perSecond: 100, seconds: 0.025 }])
    const over = run.run()
    const startedMs = performance.now()
    await waitUntil('the first is sent', () => {
      run.pump()
      return sent.length === 1
    })
    await waitUntil('the second is overdue', () => performance.now() - startedMs > 60)
    run.answered(0, 'admitted', GRANTED)
    expect(sent).toHaveLength(2)
    run.answered(0, 'admitted', GRANTED)
    await over
    const [phase] = run.result().phases
    const [waited, late] = [phase?.waiting, phase?.lateness].map((one) =>
      histogramOf(one ?? { counts: [], longest: 0 }),
    )
    expect(waited?.count).toBe(2)
    expect(waited?.quantile(0.5)).toBe(0)
    // Its latency contains both parts.
    expect(waited?.longest).toBeGreaterThanOrEqual(35_000)
    const latency = histogramOf(phase?.latency ?? { counts: [], longest: 0 })
    const parts = (waited?.longest ?? 0) + (late?.quantile(0.5) ?? 0)
    expect(parts).toBeLessThanOrEqual(latency.longest + 1)
  })

  it('was delayed by the generator if a connection was free all the time', async () => {
    const { run, sent } = oneSlot([{ perSecond: 100, seconds: 0.015 }])
    const over = run.run()
    const startedMs = performance.now()
    await waitUntil('it is overdue', () => performance.now() - startedMs > 40)
    run.pump()
    expect(sent).toHaveLength(1)
    run.answered(0, 'admitted', GRANTED)
    await over
    const [phase] = run.result().phases
    expect(phase?.waiting.longest).toBe(0)
    expect(phase?.lateness.longest).toBeGreaterThanOrEqual(25_000)
  })
})
