import { describe, expect, it } from 'vitest'
import { differences, revisionDifferences } from '../src/parts/differences.ts'

describe('differences', () => {
  it.each([
    [{ plan: 'GOLD' }, { plan: 'GOLD' }, []],
    [{ plan: 'GOLD' }, { plan: 'SILVER' }, [['plan', 'GOLD', 'SILVER']]],
    [{ a: { b: 1, c: 2 } }, { a: { b: 1, c: 3 } }, [['a.c', '2', '3']]],
    [{ list: [1, 2] }, { list: [1] }, [['list.1', '2', null]]],
    [
      null,
      { plan: 'GOLD', barred: false },
      [
        ['barred', null, 'false'],
        ['plan', null, 'GOLD'],
      ],
    ],
    [{ plan: 'GOLD' }, null, [['plan', 'GOLD', null]]],
    [
      { list: [] },
      { list: ['x'] },
      [
        ['list', '[]', null],
        ['list.0', null, 'x'],
      ],
    ],
    [{ _id: { $id: 'a' } }, { _id: { $id: 'b' } }, [['_id', 'a', 'b']]],
    [
      { urt: { sec: 0, usec: 0 } },
      { urt: { sec: 60, usec: 0 } },
      [['urt', '1970-01-01T00:00:00.000Z', '1970-01-01T00:01:00.000Z']],
    ],
    [{ name: '<img onerror=x>' }, { name: '' }, [['name', '<img onerror=x>', '']]],
  ])('%j, %j', (before, after, expected) => {
    const found = differences(before, after)
    expect(found.map(({ field, before: b, after: a }) => [field, b, a])).toEqual(expected)
  })

  it('of revisions leave out what always differs', () => {
    const before = { _id: { $id: 'a' }, from: '2026-01-01', to: '2026-02-01', plan: 'GOLD' }
    const after = { _id: { $id: 'b' }, from: '2026-02-01', to: '2170-01-01', plan: 'SILVER' }
    expect(revisionDifferences(before, after).map(({ field }) => field)).toEqual(['plan'])
  })
})
