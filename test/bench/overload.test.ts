import { expect, it } from 'vitest'
import type { PhaseResult, Slice } from '../../bench/generator/job.ts'
import { recoveryOf } from '../../bench/scenarios/overload.ts'

const well: Slice = { refused: 0, late: 1, inTime: 400 }
const recovery = (slices: Slice[], unanswered = 0) =>
  recoveryOf({ slices, unanswered } as PhaseResult)

it('recovery is the time after which hardly any request was refused or late', () => {
  expect(recovery([well, well])).toBe(0)
  const refusing: Slice = { refused: 9, late: 0, inTime: 200 }
  const late: Slice = { refused: 0, late: 9, inTime: 200 }
  expect(recovery([refusing, late, well, well])).toBe(200)
  expect(recovery([well, well, refusing, well])).toBe(300)
  expect(recovery([well, well], 1)).toBe(200)
})
