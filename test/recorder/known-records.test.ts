import { memoryUsage } from 'node:process'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
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
    known.add(linesOf('a'), 0)
    expect([1, 2, 3].map((version) => known.hasLine('a', version))).toEqual([true, true, false])
    expect(known.hasAnyLine('a')).toBe(true)
    expect(known.hasAnyLine('b')).toBe(false)
    const owner = ownerOf(1, 5, [bucketOf(0)])
    known.add(flushOf(owner), 0)
    const versions = [4, 5, 6].map((version) => known.hasOwner({ ...owner, version }))
    expect(versions).toEqual([true, true, false])
  })

  it('include the buckets of an owner that did not change with its version', () => {
    const known = new KnownRecords()
    known.setAlone(true)
    const owner = ownerOf(1, 5, [bucketOf(100), { ...bucketOf(200), id: 2 }])
    known.add(flushOf(owner), known.tenure)
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

  it('exclude buckets that another recorder may have stored', () => {
    const known = new KnownRecords()
    const owner = ownerOf(1, 5, [bucketOf(100)])
    const next = { ...owner, version: 6 }
    const isKnown = () => known.hasBucket(next, owner.buckets[0]!)
    known.add(flushOf(owner), known.tenure)
    expect(isKnown()).toBe(false)
    known.setAlone(true)
    const { tenure } = known
    known.add(flushOf(owner), tenure)
    expect(isKnown()).toBe(true)
    known.setAlone(false)
    expect(isKnown()).toBe(false)
    known.setAlone(true)
    // The entries of this flush were read before the other recorder came.
    known.add(flushOf(owner), tenure)
    expect(isKnown()).toBe(false)
  })

  it('are forgotten after an outage, and when there are too many newer ones', () => {
    const known = new KnownRecords()
    known.add(linesOf('a'), 0)
    known.clear()
    expect(known.hasAnyLine('a')).toBe(false)
    known.add(linesOf('a'), 0)
    for (let count = 0; count < 250_000; count += 1_000) {
      const stamps = Array.from({ length: 1_000 }, (_, index) => `l${count + index}`)
      known.add(linesOf(...stamps), 0)
    }
    expect(known.hasAnyLine('a')).toBe(false)
    expect(known.hasAnyLine('l249999')).toBe(true)
    expect(known.hasAnyLine('l200000')).toBe(true)
  })

  it('take at most 80 MiB, with two buckets for each owner', () => {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    const known = new KnownRecords()
    known.setAlone(true)
    collect()
    const before = memoryUsage().heapUsed
    for (let aid = 1; aid <= 150_000; aid += 1) {
      const buckets = [bucketOf(aid * 1e7), { ...bucketOf(aid * 1e6), id: 2 }]
      known.add(flushOf({ ...ownerOf(1, 5, buckets), aid }), known.tenure)
    }
    for (let at = 0; at < 300_000; at += 1) known.add(linesOf(`a stamp of some length ${at}`), 0)
    collect()
    expect((memoryUsage().heapUsed - before) / 1024 ** 2).toBeLessThan(80)
    expect(known.hasAnyLine('a stamp of some length 299999')).toBe(true)
  })
})
