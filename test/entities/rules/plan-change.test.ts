import { expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import type { RawDocument } from '../../../src/catalog/compile/document.ts'
import { planChangeWarnings } from '../../../src/entities/rules/plan-change.ts'
import { Draft } from '../../../src/entities/timeline/draft.ts'

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

/** A subscriber of account 1 until `at`, and of account 2 from then on. */
function moved(at: string, zone: string, plan = 'A'): string[] {
  const stored = { ...revision('A', '2018-01-01T00:00:00Z', '2026-12-01T00:00:00Z'), aid: 1 }
  const draft = new Draft([stored])
  const { to } = stored as unknown as { to: Date }
  draft.change(stored, { to: new Date(at) })
  draft.add({ plan, aid: 2, from: new Date(at), to })
  return planChangeWarnings(draft, zone)
}

const MOVED =
  'the account changes within a day, at 2026-06-10 09:30:00: ' +
  'invoices count that day of what is kept for account 1 only'

it('a change of the account within a day is warned about, with and without another plan', () => {
  expect(moved('2026-06-10T09:30:00Z', 'UTC')).toEqual([MOVED])
  expect(moved('2026-06-10T09:30:00Z', 'UTC', 'B')).toEqual([
    expect.stringContaining('for plans A and B'),
    MOVED,
  ])
  expect(moved('2026-06-10T00:00:00Z', 'UTC', 'B')).toEqual([])
})

it.each([
  ['America/Sao_Paulo', '2018-11-04T03:00:00Z', 0],
  ['America/Sao_Paulo', '2018-11-04T04:00:00Z', 1],
  // 00:00 to 01:00 occurs twice.
  ['America/Havana', '2018-11-04T04:00:00Z', 0],
  ['America/Havana', '2018-11-04T05:00:00Z', 1],
])('a day of %s begins with its first instant: %s', (zone, at, count) => {
  expect(moved(at, zone)).toHaveLength(count)
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
