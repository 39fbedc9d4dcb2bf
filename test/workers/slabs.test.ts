import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Reader } from '../../src/ledger/reader.ts'
import { Slabs, type Slot } from '../../src/workers/slabs.ts'

const reader = new Reader(Buffer.alloc(0))
const bytesOf = (length: number, fill: number) => Buffer.alloc(length, fill)

/** An operation on the value `at`, modulo the number of values. */
const operation = fc.record({
  at: fc.nat(),
  kind: fc.constantFrom('add', 'replace', 'free'),
  length: fc.oneof(fc.nat(300), fc.nat(5000), fc.constantFrom(0, 60, 61, 1020, 1021, 70_000)),
  fill: fc.nat(255),
})

describe('values in slabs', () => {
  it('stay as they are while others are added, replaced and freed', () => {
    fc.assert(
      fc.property(fc.array(operation, { maxLength: 200 }), (operations) => {
        const slabs = new Slabs()
        const values: { slot: Slot; bytes: Buffer }[] = []
        for (const { at, kind, length, fill } of operations) {
          // A value is a part of a larger buffer, as the arguments of a script call are.
          const source = Buffer.concat([
            Buffer.from('before'),
            bytesOf(length, fill),
            bytesOf(9, 1),
          ])
          const bytes = bytesOf(length, fill)
          const index = values.length === 0 ? 0 : at % values.length
          const known = values[index]
          if (kind === 'add' || known === undefined) {
            values.push({ slot: slabs.add(source, 6, 6 + length), bytes })
          } else if (kind === 'replace') {
            values[index] = { slot: slabs.replace(known.slot, source, 6, 6 + length), bytes }
          } else {
            slabs.free(known.slot)
            values.splice(index, 1)
          }
          for (const { slot, bytes } of values) {
            slabs.open(slot, reader)
            expect(reader.bytes(bytes.length).equals(bytes) && reader.isAtEnd).toBe(true)
          }
        }
      }),
      { numRuns: 40 },
    )
  })

  it('use freed memory again, whatever their exact length', () => {
    const slabs = new Slabs()
    const slots = Array.from({ length: 1000 }, () => slabs.add(bytesOf(200, 1), 0, 200))
    const before = slabs.slabCount
    for (let round = 0; round < 20; round += 1) {
      for (const slot of slots.splice(0)) slabs.free(slot)
      while (slots.length < 1000) slots.push(slabs.add(bytesOf(200 + round, 1), 0, 200 + round))
    }
    expect(slabs.slabCount).toBe(before)
  })

  it('keep their slot while they fit in it', () => {
    const slabs = new Slabs()
    const slot = slabs.add(bytesOf(100, 1), 0, 100)
    expect(slabs.replace(slot, bytesOf(124, 2), 0, 124)).toBe(slot)
    expect(slabs.replace(slot, bytesOf(125, 2), 0, 125)).not.toBe(slot)
  })
})
