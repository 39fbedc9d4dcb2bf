import { describe, expect, it } from 'vitest'
import { seededRandom } from '../../bench/generator/schedule.ts'
import { SessionRing } from '../../bench/generator/session-ring.ts'

describe('the session ring', () => {
  it('returns each session in turn, but none with a request under way', () => {
    const ring = new SessionRing({ sessions: 3, subscribers: 10 })
    expect([ring.take(), ring.take(), ring.take(), ring.take()]).toEqual([0, 1, 2, -1])
    ring.release(1, 'admitted')
    expect(ring.take()).toBe(1)
    expect(ring.take()).toBe(-1)
  })

  it('never returns a session twice at a time, regardless of the order of answers', () => {
    const ring = new SessionRing({ sessions: 20, subscribers: 100 })
    const random = seededRandom(1)
    const underWay: number[] = []
    for (let turn = 0; turn < 20_000; turn += 1) {
      if (random() < 0.5) {
        const session = ring.take()
        if (session < 0) continue
        expect(underWay).not.toContain(session)
        underWay.push(session)
      } else if (underWay.length > 0) {
        const [session] = underWay.splice(Math.floor(random() * underWay.length), 1)
        const fate = (['admitted', 'refused', 'failed'] as const)[Math.floor(random() * 3)]
        ring.release(session ?? 0, fate ?? 'admitted')
      }
      expect(ring.free + underWay.length).toBe(20)
    }
  })

  it('runs a start, ten updates and a release, then a session of the next subscriber', () => {
    const ring = new SessionRing({ sessions: 2, subscribers: 5 })
    const seen: string[] = []
    for (let turn = 0; turn < 60; turn += 1) {
      const session = ring.take()
      if (session === 0) seen.push(`${ring.subscriber[0]} ${ring.generation[0]} ${ring.step[0]}`)
      ring.release(session, 'admitted')
    }
    expect(seen.slice(0, 12)).toEqual(Array.from({ length: 12 }, (_, step) => `0 0 ${step}`))
    expect(seen[12]).toBe('2 1 0')
    expect(seen[24]).toBe('4 2 0')
  })

  it('spreads starts and releases evenly after the first, shorter sessions', () => {
    const ring = new SessionRing({ sessions: 132, subscribers: 1_320 })
    const turn = () => {
      const steps = Array.from({ length: 132 }, () => {
        const session = ring.take()
        const step = ring.step[session] ?? -1
        ring.release(session, 'admitted')
        return step
      })
      return Array.from({ length: 12 }, (_, step) => steps.filter((one) => one === step).length)
    }
    expect(turn()[0]).toBe(132)
    for (let skipped = 0; skipped < 12; skipped += 1) turn()
    for (const count of turn()) expect(count).toBeLessThanOrEqual(2 * 12)
  })

  it('never has two sessions of one subscriber', () => {
    const ring = new SessionRing({ sessions: 7, subscribers: 23 })
    for (let turn = 0; turn < 5_000; turn += 1) {
      ring.release(ring.take(), turn % 11 === 0 ? 'failed' : 'admitted')
      expect(new Set(ring.subscriber).size).toBe(7)
    }
  })

  it('repeats refused requests, and skips failed sessions', () => {
    const ring = new SessionRing({ sessions: 1, subscribers: 3 })
    ring.release(ring.take(), 'admitted')
    ring.release(ring.take(), 'refused')
    expect([ring.step[0], ring.generation[0]]).toEqual([1, 0])
    ring.release(ring.take(), 'failed')
    expect([ring.step[0], ring.generation[0], ring.subscriber[0]]).toEqual([0, 1, 1])
  })

  it('counts the charged reports of each subscriber, without starts', () => {
    const ring = new SessionRing({ sessions: 1, subscribers: 2 })
    for (let turn = 0; turn < 12; turn += 1) ring.release(ring.take(), 'admitted')
    ring.release(ring.take(), 'admitted')
    ring.release(ring.take(), 'refused')
    ring.release(ring.take(), 'admitted')
    expect([...ring.reports]).toEqual([11, 1])
  })

  it('with starts only opens one session per subscriber, and ends', () => {
    const ring = new SessionRing({ sessions: 4, subscribers: 10, onlyStarts: true })
    const opened: number[] = []
    for (let session = ring.take(); session >= 0; session = ring.take()) {
      opened.push(ring.subscriber[session] ?? -1)
      expect(ring.step[session]).toBe(0)
      ring.release(session, 'admitted')
    }
    expect(opened).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
  })

  it('drains by releasing each open session once, even if the release is refused first', () => {
    const ring = new SessionRing({ sessions: 3, subscribers: 9 })
    ring.release(ring.take(), 'admitted')
    ring.release(ring.take(), 'admitted')
    ring.drain()
    const released: number[] = []
    let isRefused = true
    for (let session = ring.take(); session >= 0; session = ring.take()) {
      expect(ring.step[session]).toBe(11)
      released.push(session)
      ring.release(session, isRefused ? 'refused' : 'admitted')
      isRefused = false
    }
    expect(released).toEqual([0, 1, 0])
  })
})
