import { expect, it } from 'vitest'
import { emptyOwner } from '../../src/domain/bucket.ts'
import { coalesce, type EntryContent, keysOf } from '../../src/recorder/coalesce.ts'
import { lineOf } from '../support/recorder/accounts.ts'

const entry = (version: number, sid = 11): EntryContent => ({
  owners: [{ ...emptyOwner(1, sid), version }],
  lines: [{ ...lineOf(1, sid, `line-${sid}`), version }],
  operations: [],
})

it('a flush keeps the highest version of each line and owner, in any order of entries', () => {
  for (const versions of [
    [1, 2, 3],
    [3, 1, 2],
    [1, 3, 3, 2],
  ]) {
    const flush = coalesce([...versions.map((version) => entry(version)), entry(1, 12)])
    expect([...flush.lines.values()].map(({ stamp, version }) => [stamp, version])).toEqual([
      ['line-11', 3],
      ['line-12', 1],
    ])
    expect([...flush.owners].map(([key, { version }]) => [key, version])).toEqual([
      ['1:11', 3],
      ['1:12', 1],
    ])
  }
})

it('an entry and a flush have the same keys for its contents', () => {
  const flush = coalesce([entry(1)])
  expect(keysOf(entry(1))).toEqual([...flush.lines.keys(), ...flush.owners.keys()])
})
