import { describe, expect, it } from 'vitest'
import { FlowRun } from '../../bench/generator/flow-run.ts'
import { histogramOf } from '../../bench/generator/histogram.ts'
import type { Flow } from '../../bench/generator/job.ts'
import type { Link } from '../../bench/generator/link.ts'
import { SessionRing } from '../../bench/generator/session-ring.ts'
import { answerNumber } from '../../bench/generator/tally.ts'

const GRANTED = answerNumber(200, 1)

/** One connection, which answers when the test decides, and its clock. */
function oneSlot(phases: Flow['phases']) {
  const clock = { ms: 1_000 }
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
  const ring = new SessionRing({ sessions: 9, subscribers: 9 })
  const run = new FlowRun(flow, ring, link, () => clock.ms)
  const pumpAfter = (ms: number) => {
    clock.ms += ms
    run.pump()
  }
  return { run, sent, pumpAfter }
}

describe('a request of an open loop that is sent late', () => {
  it('has waited for the server if no connection was free', async () => {
    // Due at 10 and 20 ms; the only connection is busy with the first request until 60 ms.
    const { run, sent, pumpAfter } = oneSlot([{ perSecond: 100, seconds: 0.025 }])
    const over = run.run()
    pumpAfter(10)
    expect(sent).toHaveLength(1)
    pumpAfter(50)
    expect(sent).toHaveLength(1)
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
    expect(waited?.longest).toBe(40_000)
    expect(late?.longest).toBe(0)
    expect(phase?.latency.longest).toBe(50_000)
  })

  it('was delayed by the generator if a connection was free all the time', async () => {
    const { run, sent, pumpAfter } = oneSlot([{ perSecond: 100, seconds: 0.015 }])
    const over = run.run()
    pumpAfter(40)
    expect(sent).toHaveLength(1)
    run.answered(0, 'admitted', GRANTED)
    await over
    const [phase] = run.result().phases
    expect(phase?.waiting.longest).toBe(0)
    expect(phase?.lateness.longest).toBe(30_000)
  })
})
