import { ObjectId } from 'mongodb'
import { describe, expect, it } from 'vitest'
import type { RawDocument } from '../../../src/catalog/compile/document.ts'
import { createRevisionTable, type SkippedDocument } from '../../../src/catalog/feed/snapshot.ts'
import type { Revision } from '../../../src/domain/catalogue.ts'
import { FieldError } from '../../../src/domain/fields.ts'

interface Thing extends Revision {
  key: string
}

function createThings() {
  const compiled: string[] = []
  const skipped: SkippedDocument[] = []
  const table = createRevisionTable<string, Thing>({
    collection: 'things',
    compile(document) {
      const key = String(document['key'])
      compiled.push(key)
      if (document['broken'] === true) throw new FieldError('broken', 'must not be true')
      const id = String(document._id)
      return { id, key, fromMs: Number(document['from']), toMs: Number(document['to']) }
    },
    keyOf: (thing) => thing.key,
    nameOf: (document) => String(document['key']),
    onSkip: (skip) => skipped.push(skip),
  })
  const periods = async (key: string) => {
    const revisions = (await table.publish()).get(key)
    return revisions?.map(({ fromMs, toMs }) => [fromMs, toMs]) ?? null
  }
  return { table, compiled, skipped, periods }
}

function thing(key: string, from: number, to: number, rev: number, more: object = {}): RawDocument {
  return { _id: new ObjectId(), rev, key, from, to, ...more }
}

describe('a revision table', () => {
  it('sorts the revisions of a key by start', async () => {
    const { table, periods } = createThings()
    await table.apply([thing('A', 5, 9, 2), thing('B', 0, 1, 3), thing('A', 0, 5, 1)])
    expect(await periods('A')).toEqual([
      [0, 5],
      [5, 9],
    ])
    expect(await periods('B')).toEqual([[0, 1]])
  })

  it.each([
    [
      'the later begins, the earlier ends',
      [
        [0, 9],
        [5, 20],
      ],
      [
        [0, 5],
        [5, 20],
      ],
    ],
    [
      'one inside another',
      [
        [0, 20],
        [5, 9],
      ],
      [
        [0, 5],
        [5, 9],
      ],
    ],
    [
      'with the same start, the newer write is used',
      [
        [0, 20],
        [0, 9],
      ],
      [[0, 9]],
    ],
    [
      'three',
      [
        [0, 100],
        [5, 50],
        [7, 8],
      ],
      [
        [0, 5],
        [5, 7],
        [7, 8],
      ],
    ],
  ])('removes overlaps: %s', async (_name, given, expected) => {
    const { table, periods } = createThings()
    await table.apply(given.map(([from = 0, to = 0], index) => thing('A', from, to, index + 1)))
    expect(await periods('A')).toEqual(expected)
  })

  it('compiles only changed documents', async () => {
    const { table, compiled } = createThings()
    const a = thing('A', 0, 9, 1)
    expect(await table.apply([a, thing('B', 0, 9, 2)])).toBe(true)
    expect(await table.apply([a])).toBe(false)
    expect(await table.apply([{ ...a, rev: 3 }])).toBe(true)
    expect(compiled).toEqual(['A', 'B', 'A'])
  })

  it('does not modify maps that it has returned', async () => {
    const { table } = createThings()
    const a = thing('A', 0, 9, 1)
    await table.apply([a])
    const before = await table.publish()
    await table.apply([{ ...a, to: 7, rev: 2 }, thing('B', 0, 1, 3)])
    expect(before.get('A')?.[0]?.toMs).toBe(9)
    expect(before.has('B')).toBe(false)
    expect((await table.publish()).get('A')?.[0]?.toMs).toBe(7)
  })

  it('moves a document to another key and removes deleted ones', async () => {
    const { table, periods } = createThings()
    const a = thing('A', 0, 9, 1)
    await table.apply([a])
    await table.apply([{ ...a, key: 'B', rev: 2 }])
    expect([await periods('A'), await periods('B')]).toEqual([null, [[0, 9]]])
    await table.apply([{ ...a, key: 'B', rev: 3, deleted: true }])
    expect([...(await table.publish())]).toEqual([])
  })

  it('skips and names an invalid document, and includes it once it is repaired', async () => {
    const { table, skipped, periods } = createThings()
    const a = thing('A', 0, 9, 1, { broken: true })
    await table.apply([a, thing('B', 0, 9, 2)])
    await table.apply([a])
    const expected = { collection: 'things', name: 'A', path: 'broken', reason: 'must not be true' }
    expect(skipped).toEqual([{ ...expected, id: String(a._id) }])
    expect(table.skipped()).toEqual(skipped)
    expect([await periods('A'), await periods('B')]).toEqual([null, [[0, 9]]])
    await table.apply([{ ...a, broken: false, rev: 3 }])
    expect(table.skipped()).toEqual([])
    expect(await periods('A')).toEqual([[0, 9]])
  })
})
