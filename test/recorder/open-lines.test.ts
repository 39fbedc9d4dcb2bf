import { describe, expect, it } from 'vitest'
import type { Line } from '../../src/domain/line.ts'
import { OpenLines } from '../../src/recorder/open-lines.ts'
import { lineOf } from '../support/recorder/accounts.ts'

const WAIT_MS = 60_000
const line = (stamp: string, version: number, state: Line['state'] = 'open'): Line => ({
  ...lineOf(1, 1, stamp),
  stamp,
  version,
  state,
})
const flushOf = (...lines: Line[]) => ({ lines: new Map(lines.map((each) => [each.stamp, each])) })
const ofMany = (from: number, count: number, version = 2) =>
  flushOf(...Array.from({ length: count }, (_, index) => line(`s${from + index}`, version)))
const versions = (selected: Map<string, Line>) =>
  [...selected].map(([stamp, { version }]) => `${stamp} ${version}`)
/** Stored are all lines but those of new segments, whose stamps begin with n. */
const stored = { hasAnyLine: (stamp: string) => !stamp.startsWith('n') }

/** The lines that are written when a flush has none. */
const rest = (open: OpenLines) => open.select({ lines: new Map() }, 0)

describe('lines of open segments', () => {
  it('are written at once while there are few', () => {
    const open = new OpenLines(WAIT_MS, stored)
    expect(versions(open.select(flushOf(line('a', 2), line('b', 3)), 0))).toEqual(['a 2', 'b 3'])
    expect(rest(open).size).toBe(0)
  })

  it('wait if there are many, the newest version of each, and the oldest is written first', () => {
    const open = new OpenLines(WAIT_MS, stored)
    expect(open.select(ofMany(0, 600), 0).size).toBe(500)
    // s500 to s599 wait; now newer versions of them.
    const next = open.select(ofMany(500, 600, 3), 1_000)
    expect(next.size).toBe(500)
    expect(versions(next).slice(0, 2)).toEqual(['s500 3', 's501 3'])
    // An older version changes nothing.
    open.select(ofMany(1_000, 1, 2), 2_000)
    expect(versions(rest(open))).not.toContain('s1000 2')
  })

  it('wait no longer than they may', () => {
    const open = new OpenLines(WAIT_MS, stored)
    open.select(ofMany(0, 3_000), 0)
    expect(open.select(ofMany(5_000, 1), WAIT_MS - 1).size).toBe(500)
    expect(open.select(ofMany(6_000, 1), WAIT_MS).size).toBe(2_000)
    expect(rest(open).size).toBe(2)
    const without = new OpenLines(0, stored)
    expect(without.select(ofMany(0, 3_000), 0).size).toBe(3_000)
  })

  it('of new and of ended segments never wait, and are not written after their end', () => {
    const open = new OpenLines(WAIT_MS, stored)
    open.select(ofMany(0, 600), 0)
    const ended = [line('s599', 4, 'closed'), line('s598', 4, 'ended'), line('s597', 4, 'expired')]
    const busy = [...ofMany(1_000, 600).lines.values()]
    const selected = open.select(flushOf(...ended, line('n1', 1), ...busy), 1_000)
    expect(versions(selected).slice(0, 4)).toEqual(['s599 4', 's598 4', 's597 4', 'n1 1'])
    const later = versions(rest(open))
    expect(later.filter((each) => /s59[789] /.test(each))).toEqual([])
  })

  it('are all written when there is nothing else', () => {
    const open = new OpenLines(WAIT_MS, stored)
    open.select(ofMany(0, 9_000), 0)
    expect(rest(open).size).toBe(8_500)
    expect(rest(open).size).toBe(0)
  })

  it('that wait are limited', () => {
    const open = new OpenLines(WAIT_MS, stored)
    expect(open.select(ofMany(0, 30_000), 0).size).toBe(10_000)
    expect(rest(open).size).toBe(20_000)
  })
})
