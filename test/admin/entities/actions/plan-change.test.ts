import { expect, it } from 'vitest'
import { planChangeWarnings } from '../../../../src/admin/entities/actions/plan-change.ts'
import { Draft } from '../../../../src/admin/entities/timeline/draft.ts'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import type { RawDocument } from '../../../../src/catalog/compile/document.ts'

const revision = (plan: string, from: string, to: string): RawDocument => ({
  _id: new ObjectId(),
  rev: 0,
  plan,
  from: new Date(from),
  to: new Date(to),
})

/** A plan until `at`, and another one from then on. */
function changed(at: string, plan = 'B'): string[] {
  const stored = revision('A', '2026-01-01T00:00:00Z', '2026-12-01T00:00:00Z')
  const draft = new Draft([stored])
  const { to } = stored
  draft.change(stored, { to: new Date(at) })
  draft.add({ plan, from: new Date(at), to })
  return planChangeWarnings(draft, 'Asia/Jerusalem')
}

it('a change of the plan within a day is warned about', () => {
  expect(changed('2026-06-10T09:30:00Z')).toEqual([
    'the plan changes within a day, at 2026-06-10 12:30:00: invoices count that day for ' +
      'plans A and B',
  ])
})

it.each([
  ['at midnight', '2026-06-09T21:00:00Z', 'B'],
  ['to the same plan', '2026-06-10T09:30:00Z', 'A'],
])('a change %s is not', (_, at, plan) => {
  expect(changed(at, plan)).toEqual([])
})

it('a change that was stored before is not warned about again', () => {
  const at = '2026-06-10T09:30:00Z'
  const stored = [
    revision('A', '2026-01-01T00:00:00Z', at),
    revision('B', at, '2026-12-01T00:00:00Z'),
  ]
  expect(planChangeWarnings(new Draft(stored), 'UTC')).toEqual([])
})
