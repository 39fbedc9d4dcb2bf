/** BSON in its received bytes: which documents are plain, and reading single fields. */
import {
  Binary,
  BSON,
  BSONRegExp,
  BSONSymbol,
  Code,
  DBRef,
  Decimal128,
  type Document,
  Double,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  Timestamp,
  UUID,
} from 'bson'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { propertyRuns } from '../../../test/support/domain/property-runs.ts'
import { asBuffer } from '../src/values/bson-bytes.ts'
import { decode, encode } from '../src/values/document.ts'
import { isPlain } from '../src/values/plain-bson.ts'
import { FieldNames, RawFields } from '../src/values/raw-fields.ts'

const bytesOf = (doc: Document): Buffer => Buffer.from(BSON.serialize(doc))
/** A document of one element in the given bytes. */
const element = (...bytes: (number | string)[]): Buffer => {
  const parts = bytes.map((part) => Buffer.from(typeof part === 'string' ? part : [part]))
  const body = Buffer.concat([...parts, Buffer.from([0])])
  const length = Buffer.alloc(4)
  length.writeInt32LE(body.length + 4)
  return Buffer.concat([length, body])
}

const PLAIN_VALUES: readonly unknown[] = [
  new Double(1.5),
  new Double(-0),
  'text',
  'ä€😀\0',
  '',
  { a: { b: [1, { c: null }] } },
  [],
  [1, 'x', [2]],
  new Binary(Buffer.from('x'), 0),
  new UUID('00112233-4455-4677-8899-aabbccddeeff'),
  new ObjectId('00112233445566778899aabb'),
  true,
  new Date(-1),
  null,
  new Int32(-5),
  Long.fromString('-9007199254740993'),
  new Timestamp({ t: 1, i: 2 }),
  Decimal128.fromString('1.50'),
]
const RARE_VALUES: readonly unknown[] = [
  new Double(Number.NaN),
  new Double(Number.POSITIVE_INFINITY),
  new BSONSymbol('x'),
  new Code('x'),
  new Code('x', { y: 1 }),
  new BSONRegExp('x', 'i'),
  new DBRef('c', new ObjectId()),
  new MinKey(),
  new MaxKey(),
  new Binary(Buffer.from('x'), 2),
  new Binary(Buffer.from('x'), 5),
]

const anyDocument = fc.dictionary(
  fc.constantFrom('a', 'b', 'ab', '_id', '7', '$x', '_bsontype_', 'ä', ''),
  fc.constantFrom(...PLAIN_VALUES, ...RARE_VALUES),
  { noNullPrototype: true },
)

describe('plain documents', () => {
  it.each(PLAIN_VALUES.map((value) => [value]))('with %s', (value) => {
    expect(isPlain(bytesOf({ a: value, b: { c: value }, d: [value] }))).toBe(true)
  })

  it.each(RARE_VALUES.map((value) => [value]))('not with %s', (value) => {
    expect(isPlain(bytesOf({ a: value }))).toBe(false)
  })

  it.each<[string, Buffer]>([
    ['a name twice', element(10, 'a\0', 10, 'b\0', 10, 'a\0')],
    ['a name twice inside', element(3, 'o\0', '\x0b\0\0\0', 10, 'a\0', 10, 'a\0', 0)],
    ['a name that is a number', bytesOf({ 12: 1 })],
    ['a name with $', bytesOf({ a: { $b: 1 } })],
    ['__proto__', element(10, '__proto__\0')],
    ['_bsontype', element(10, '_bsontype\0')],
    ['a name that is not UTF-8', element(10, 0xff, 0)],
    ['text that is not UTF-8', element(2, 'a\0', '\x02\0\0\0', 0xff, 0)],
    ['text without an end', element(2, 'a\0', '\x02\0\0\0', 'bc')],
    ['text of length 0', element(2, 'a\0', '\0\0\0\0')],
    ['text beyond the document', element(2, 'a\0', '\x09\0\0\0', 'b\0')],
    ['a boolean that is 2', element(8, 'a\0', 2)],
    ['an unknown type', element(0x20, 'a\0')],
    ['undefined', element(6, 'a\0')],
    ['a date out of range', element(9, 'a\0', '\0\0\0\0\0\0\0\x7f')],
    ['a value beyond the document', element(16, 'a\0', '\0\0')],
    ['bytes behind the end', element(10, 'a\0', 0, 'x')],
    ['array indexes that are not in order', element(4, 'a\0', '\x08\0\0\0', 10, '1\0', 0)],
    ['an array index with a zero in front', element(4, 'a\0', '\x09\0\0\0', 10, '00\0', 0)],
    ['a name without an end', element(10, 'a')],
    ['another length', Buffer.concat([bytesOf({ a: 1 }), Buffer.from([0])])],
    ['no bytes', Buffer.alloc(0)],
  ])('not with %s', (_, bytes) => {
    expect(isPlain(bytes)).toBe(false)
  })

  it('not with too many levels', () => {
    let doc: Document = {}
    for (let depth = 0; depth < 100; depth++) doc = { a: doc }
    expect(isPlain(bytesOf(doc))).toBe(false)
  })

  it('not with more names than the check holds', () => {
    const names = Array.from({ length: 3000 }, (_, i) => [`n${i}`, 1])
    expect(isPlain(bytesOf(Object.fromEntries(names.slice(0, 2000))))).toBe(true)
    expect(isPlain(bytesOf(Object.fromEntries(names)))).toBe(false)
  })

  it('decode and encode to the same bytes, even if the bytes were damaged', () => {
    const damage = fc.array(fc.tuple(fc.nat(), fc.nat(255)), { maxLength: 2 })
    fc.assert(
      fc.property(anyDocument, damage, (doc, changes) => {
        const bytes = bytesOf(doc)
        for (const [at, byte] of changes) bytes[at % bytes.length] = byte
        if (isPlain(bytes)) expect(asBuffer(encode(decode(bytes))).equals(bytes)).toBe(true)
      }),
      propertyRuns(5000),
    )
  })
})

describe('fields in the bytes of a document', () => {
  const names = new FieldNames(['a', 'ab', '_id', 'ä', 'missing'])
  const slots = names.names.map((_, slot) => slot)

  it('equal those of the decoded document', () => {
    fc.assert(
      fc.property(anyDocument, (doc) => {
        const bytes = bytesOf(doc)
        const whole = decode(bytes)
        const expected = Object.fromEntries(
          names.names.flatMap((name) => (name in whole ? [[name, whole[name]]] : [])),
        )
        expect(new RawFields(names, bytes).decode(slots)).toEqual(expected)
      }),
      propertyRuns(1000),
    )
  })

  it('of several with one name the last one counts', () => {
    const bytes = element(16, 'a\0', '\x01\0\0\0', 16, 'a\0', '\x02\0\0\0')
    expect(new RawFields(names, bytes).decode(slots)).toEqual({ a: decode(bytes)['a'] })
  })

  it('are the same only with the same type and bytes', () => {
    const same = (a: Document, b: Document) =>
      new RawFields(names, bytesOf(a)).isSame(0, new RawFields(names, bytesOf(b)), 0)
    expect(same({ a: 1 }, { b: 'x', a: 1 })).toBe(true)
    expect(same({ a: 1 }, { a: new Double(1) })).toBe(false)
    expect(same({ a: 'x' }, { a: 'xy' })).toBe(false)
    expect(same({ a: 1 }, {})).toBe(false)
    expect(same({}, { b: 1 })).toBe(true)
  })
})
