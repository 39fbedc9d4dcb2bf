import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type Deadline, Deadlines } from '../../src/realtime/deadlines.ts'

it('returns expired entries in order, except removed ones', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 30 }), fc.nat(30), (removed, nowMs) => {
      const list = new Deadlines<Deadline>()
      const members = removed.map((_, deadlineMs) => ({ deadlineMs, earlier: null, later: null }))
      for (const member of members) list.add(member)
      for (const [index, isRemoved] of removed.entries())
        if (isRemoved) list.remove(members[index]!)
      const over: number[] = []
      for (let next = list.takeExpired(nowMs); next !== null; next = list.takeExpired(nowMs)) {
        over.push(next.deadlineMs)
      }
      const kept = removed.flatMap((isRemoved, index) => (isRemoved ? [] : [index]))
      expect(over).toEqual(kept.filter((deadlineMs) => deadlineMs <= nowMs))
    }),
  )
})
