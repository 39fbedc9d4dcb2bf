import { describe, expect, it } from 'vitest'
import type { OwnerState } from '../../src/domain/bucket.ts'
import { NO_RECORDS, ownerKey } from '../../src/recorder/coalesce.ts'
import { KnownRecords } from '../../src/recorder/known-records.ts'
import { bucketOf, ownerOf } from '../support/ledger/fixture.ts'
import { lineOf } from '../support/recorder/accounts.ts'

const flushOf = (...owners: OwnerState[]) => ({
  ...NO_RECORDS,
  owners: new Map(owners.map((owner) => [ownerKey(owner), owner])),
})
const linesOf = (...stamps: string[]) => ({
  ...NO_RECORDS,
  lines: new Map(stamps.map((stamp) => [stamp, { ...lineOf(1, 1, stamp), stamp, version: 2 }])),
})

describe('known records', () => {
  it('are the versions of a flush and older ones', () => {
    const known = new KnownRecords()
    expect(known.hasLine('a', 1)).toBe(false)
    known.add(linesOf('a'))
    expect([1, 2, 3].map((version) => known.hasLine('a', version))).toEqual([true, true, false])
    expect(known.hasAnyLine('a')).toBe(true)
    expect(known.hasAnyLine('b')).toBe(false)
    const owner = ownerOf(1, 5, [bucketOf(0)])
    known.add(flushOf(owner))
    const versions = [4, 5, 6].map((version) => known.hasOwner({ ...owner, version }))
    expect(versions).toEqual([true, true, false])
  })

  it('include the buckets of an owner that did not change with its version', () => {
    const known = new KnownRecords()
    const owner = ownerOf(1, 5, [bucketOf(100), { ...bucketOf(200), id: 2 }])
    known.add(flushOf(owner))
    const [first, second] = owner.buckets
    const next = { ...owner, version: 6 }
    expect(known.hasBucket(next, first!)).toBe(true)
    expect(known.hasBucket(next, { ...second!, spent: second!.spent + 1 })).toBe(false)
    // Each document repeats these values of its owner.
    for (const other of [{ owed: 1 }, { repaid: 1 }, { nextBucketId: 9 }]) {
      expect(known.hasBucket({ ...next, ...other }, first!)).toBe(false)
    }
    for (const [field, value] of Object.entries(first!)) {
      const changed = typeof value === 'number' ? value + 1 : `${value}x`
      expect(known.hasBucket(next, { ...first!, [field]: changed }), field).toBe(false)
    }
  })

  it('are forgotten after an outage, and when there are too many newer ones', () => {
    const known = new KnownRecords()
    known.add(linesOf('a'))
    known.clear()
    expect(known.hasAnyLine('a')).toBe(false)
    known.add(linesOf('a'))
    for (let count = 0; count < 250_000; count += 1_000) {
      known.add(linesOf(...Array.from({ length: 1_000 }, (_, index) => `l${count + index}`)))
    }
    expect(known.hasAnyLine('a')).toBe(false)
    expect(known.hasAnyLine('l249999')).toBe(true)
    expect(known.hasAnyLine('l200000')).toBe(true)
  })
})
