import { Binary, Decimal128, Double, Int32, Long, MaxKey, MinKey, ObjectId, Timestamp } from 'bson'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { compareValues } from '../src/values/compare.ts'
import type { Value } from '../src/values/document.ts'
import { EMPTY_ARRAY, encodeKey, keyText } from '../src/values/key-encoding.ts'

const bytes = (length: number) => fc.uint8Array({ minLength: length, maxLength: length })

/** Numbers close to each other, so that the last digits decide. */
const numbers: fc.Arbitrary<Value> = fc.oneof(
  fc.integer().map((value) => new Int32(value)),
  fc.integer({ min: -3, max: 3 }).map((value) => new Int32(value)),
  fc.double().map((value) => new Double(value)),
  fc.integer({ min: -30, max: 30 }).map((value) => new Double(value / 10)),
  fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }).map((value) => Long.fromBigInt(value)),
  fc.bigInt({ min: 2n ** 53n - 3n, max: 2n ** 53n + 3n }).map((value) => Long.fromBigInt(value)),
  fc
    .tuple(fc.bigInt({ min: -(10n ** 33n), max: 10n ** 33n }), fc.integer({ min: -500, max: 500 }))
    .map(([digits, power]) => Decimal128.fromString(`${digits}E${power}`)),
  fc.integer({ min: -30, max: 30 }).map((value) => Decimal128.fromString(`${value}E-1`)),
  fc.constantFrom('NaN', 'Infinity', '-Infinity', '0').map((text) => Decimal128.fromString(text)),
)

const scalars: fc.Arbitrary<Value> = fc.oneof(
  { weight: 5, arbitrary: numbers },
  fc.string({ unit: 'binary', maxLength: 4 }),
  fc.constantFrom('', '\0', 'a\0', 'a\x01', 'a\0\x01', 'a', 'ab', '\uffff', '\u{10000}'),
  fc.boolean(),
  fc.constant(null),
  fc.integer({ min: -1e14, max: 1e14 }).map((ms) => new Date(ms)),
  bytes(12).map((id) => new ObjectId(id)),
  fc.tuple(fc.uint8Array({ maxLength: 3 }), fc.integer({ min: 0, max: 5 })).map(([data, type]) => {
    return new Binary(data, type)
  }),
  fc.tuple(fc.nat(), fc.nat(9)).map(([t, i]) => new Timestamp({ t, i })),
  fc.constantFrom(new MinKey(), new MaxKey()),
)

const values = fc.letrec<{ value: Value }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 2, withCrossShrink: true },
    { weight: 6, arbitrary: scalars },
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom('a', 'b', 'ab'), tie('value'), {
      maxKeys: 3,
      noNullPrototype: true,
    }),
  ),
})).value

describe('index keys', () => {
  it('compare in the same order as their values', () => {
    fc.assert(
      fc.property(values, values, (a, b) => {
        const order = Math.sign(compareValues(a, b))
        expect(Math.sign(Buffer.compare(encodeKey(a), encodeKey(b)))).toBe(order)
        const inverted = Buffer.compare(encodeKey(a, true), encodeKey(b, true))
        expect(Math.sign(inverted)).toBe(0 - order)
        expect(keyText(a) === keyText(b)).toBe(order === 0)
      }),
      { numRuns: 3000 },
    )
  })

  it('of several components compare component by component', () => {
    fc.assert(
      fc.property(values, values, values, values, fc.boolean(), (a, b, c, d, descending) => {
        const key = (first: Value, second: Value) =>
          Buffer.concat([encodeKey(first, descending), encodeKey(second)])
        const first = Math.sign(compareValues(a, b)) * (descending ? -1 : 1)
        const order = first === 0 ? Math.sign(compareValues(c, d)) : first
        expect(Math.sign(Buffer.compare(key(a, c), key(b, d)))).toBe(order)
      }),
      { numRuns: 2000 },
    )
  })

  it('begin with neither of the bytes that enclose components', () => {
    fc.assert(
      fc.property(values, fc.boolean(), (value, descending) => {
        const [first = 0] = encodeKey(value, descending)
        expect(first).toBeGreaterThan(0x04)
        expect(first).toBeLessThan(0xff)
      }),
    )
  })

  it('put an empty array before null and after the smallest key', () => {
    const keys = [
      encodeKey(new MinKey()),
      encodeKey(EMPTY_ARRAY),
      encodeKey(null),
      encodeKey(new Double(Number.NaN)),
    ]
    expect([...keys].reverse().sort(Buffer.compare)).toEqual(keys)
  })
})
