/**
 * Replacements and inserts in received bytes have the same answers and the same effects as decoded
 * ones, which are those of operations inside the command.
 */
import { BSON, BSONSymbol, Decimal128, type Document, Double, Int32, Long, ObjectId } from 'bson'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  isRawReplacement,
  parseRawReplacement,
} from '../../src/embedded/mongo/update/raw-operation.ts'
import { applyRawReplacement } from '../../src/embedded/mongo/update/raw-replacement.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'
import { type DirectServer, openDirectServer } from '../support/embedded/direct-server.ts'

const NS = 'd.c'
const INDEXES = [
  { name: 'ab', key: { a: 1, b: -1 }, unique: true },
  { name: 's', key: { s: 1 }, unique: true, sparse: true },
  { name: 'p', key: { p: 1, v: 1 }, partialFilterExpression: { live: true } },
  { name: 't', key: { tags: 1 } },
  { name: 'o', key: { 'o.k': 1, a: 1 } },
]

let raw: DirectServer
let decoded: DirectServer

const bytesOf = (doc: Document): Buffer => Buffer.from(BSON.serialize(doc))
const idOf = (n: number) => new ObjectId(n.toString(16).padStart(24, '0'))

beforeEach(async () => {
  raw = await openDirectServer()
  decoded = await openDirectServer()
  for (const server of [raw, decoded]) await createCollection(server)
})

afterEach(async () => {
  await raw.close()
  await decoded.close()
})

async function createCollection(server: DirectServer): Promise<void> {
  expect(await server.run({ createIndexes: 'c', indexes: INDEXES })).toHaveProperty('ok')
}

type Bulk = { readonly command: Document; readonly field: string; readonly docs: Document[] }

/** Runs a bulk in both ways; the answers and the stored bytes must be equal. */
async function runBoth({ command, field, docs }: Bulk): Promise<Document> {
  const answer = await raw.run(command, { field, docs: docs.map(bytesOf) })
  const expected = await decoded.run({ ...command, [field]: docs })
  expect(answer).toEqual(expected)
  const content = raw.content(NS)
  expect(content).toEqual(decoded.content(NS))
  expect(content.entries).toEqual(raw.expectedEntries(NS))
  return answer
}

const updates = (...docs: Document[]): Bulk => ({
  command: { update: 'c' },
  field: 'updates',
  docs,
})
const inserts = (...docs: Document[]): Bulk => ({
  command: { insert: 'c' },
  field: 'documents',
  docs,
})

/** Executes an operation in its received bytes; undefined if it has to be decoded. */
async function runRaw(operation: Document): Promise<unknown> {
  const bytes = bytesOf(operation)
  const parsed = isRawReplacement(bytes) ? parseRawReplacement(bytes) : undefined
  return parsed && (await raw.storage.write(() => applyRawReplacement(raw.records, NS, parsed)))
}

const keyValues = fc.oneof(
  { weight: 8, arbitrary: fc.integer({ min: 0, max: 2 }).map((n) => new Int32(n)) },
  fc.constantFrom<unknown>(new Double(1), new Double(-0), Long.fromNumber(1), '1', 'é', true),
  fc.constantFrom<unknown>(null, new Date(1), idOf(1), Decimal128.fromString('1')),
  fc.constantFrom<unknown>([new Int32(1), new Int32(2)], { k: 1 }),
)
const versions = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 0, max: 4 }).map((n) => new Int32(n)) },
  fc.constantFrom<unknown>(
    new Double(2.5),
    Long.fromNumber(3),
    Long.fromString('9007199254740993'),
  ),
  fc.constantFrom<unknown>(new Double(9007199254740992), new Double(Number.NaN), 'text', null),
  fc.constantFrom<unknown>([new Int32(0), 'x'], Decimal128.fromString('2.5')),
)
const ids = fc.integer({ min: 1, max: 4 }).map(idOf)

const fields = fc.record(
  {
    a: keyValues,
    b: keyValues,
    v: versions,
    s: fc.integer({ min: 0, max: 3 }),
    p: keyValues,
    live: fc.boolean(),
    tags: fc.array(fc.integer({ min: 0, max: 3 }), { maxLength: 3 }),
    o: fc.oneof(fc.record({ k: keyValues }), fc.array(fc.record({ k: fc.nat(2) }))),
    text: fc.constantFrom('', 'ä', 'x'.repeat(50)),
  },
  { requiredKeys: [], noNullPrototype: true },
)
const identified = fc.tuple(ids, fields).map(([_id, doc]) => ({ _id, ...doc }))
const newer = fc.oneof(
  { weight: 3, arbitrary: versions.map((v) => ({ v: { $lt: v } })) },
  fc.constantFrom<Document>({}, {}, { live: true }),
)
const byKey = fc
  .tuple(keyValues, keyValues, newer, identified, fc.boolean(), fc.boolean())
  .map(([a, b, condition, doc, keepsKey, upsert]) => ({
    q: { a, b, ...condition },
    u: keepsKey ? { ...doc, a, b } : doc,
    upsert,
  }))
const byId = fc.tuple(ids, newer, fields, fc.boolean()).map(([_id, condition, u, upsert]) => {
  return { q: { ...condition, _id }, u, upsert }
})
const bySparse = fc.tuple(fc.nat(3), identified).map(([s, doc]) => {
  return { q: { s }, u: { ...doc, s }, upsert: true }
})
const operators = fc.tuple(keyValues, versions).map(([a, v]) => ({ q: { a }, u: { $set: { v } } }))

const bulks = fc.oneof(
  fc
    .array(fc.oneof({ weight: 4, arbitrary: byKey }, byId, bySparse, operators), {
      minLength: 1,
      maxLength: 4,
    })
    .map((docs) => updates(...docs)),
  fc.array(identified, { minLength: 1, maxLength: 3 }).map((docs) => inserts(...docs)),
  ids.map((_id): Bulk => {
    return { command: { delete: 'c' }, field: 'deletes', docs: [{ q: { _id }, limit: 1 }] }
  }),
)

it('all sequences of bulks have the same answers and contents as decoded', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(bulks, fc.boolean()), { minLength: 1, maxLength: 10 }),
      async (sequence) => {
        for (const server of [raw, decoded]) {
          await server.run({ drop: 'c' })
          await createCollection(server)
        }
        for (const [bulk, ordered] of sequence) {
          await runBoth({ ...bulk, command: { ...bulk.command, ordered } })
        }
      },
    ),
    propertyRuns(150),
  )
})

describe('operations that are executed in their received bytes', () => {
  const u = { a: 1, b: 'x', v: 3, text: 'new' }

  it.each<[string, Document]>([
    ['a unique key and a version', { q: { a: 1, b: 'x', v: { $lt: 3 } }, u, upsert: true }],
    ['the fields of the key in another order', { q: { b: 'x', a: 1 }, u, multi: false }],
    ['the _id', { q: { _id: idOf(1), v: { $lt: 3.5 } }, u }],
    ['a replacement with the stored _id', { q: { a: 1, b: 'x' }, u: { _id: idOf(1), ...u } }],
    ['an upsert of a new key', { q: { a: 2, b: 'x' }, u: { ...u, a: 2 }, upsert: true }],
    ['a duplicate key', { q: { a: 1, b: 'x', v: { $lt: 1 } }, u, upsert: true }],
    ['a key that is not found', { q: { a: 5, b: 'x' }, u }],
  ])('%s', async (_, operation) => {
    await runBoth(inserts({ _id: idOf(1), a: 1, b: 'x', v: 1 }))
    expect(await runRaw(operation)).toBeDefined()
  })

  it('a replacement keeps the stored _id in front', async () => {
    await runBoth(inserts({ _id: idOf(1), a: 1, b: 'x', v: 1 }))
    expect(await runBoth(updates({ q: { a: 1, b: 'x', v: { $lt: 3 } }, u }))).toMatchObject({
      nModified: new Int32(1),
    })
    const { cursor } = await raw.run({ find: 'c' })
    expect(BSON.serialize(cursor.firstBatch[0])).toEqual(BSON.serialize({ _id: idOf(1), ...u }))
  })

  it('an upsert without an _id gets a new one', async () => {
    const docs = [bytesOf({ q: { a: 1, b: 'x' }, u, upsert: true })]
    const answer = await raw.run({ update: 'c' }, { field: 'updates', docs })
    const [{ _id }] = answer['upserted']
    expect(_id).toBeInstanceOf(ObjectId)
    const { cursor } = await raw.run({ find: 'c', filter: { _id } })
    expect(BSON.serialize(cursor.firstBatch[0])).toEqual(BSON.serialize({ _id, ...u }))
  })
})

describe('operations that are decoded', () => {
  const u = { a: 1, b: 'x' }
  const q = { a: 1, b: 'x' }

  it.each<[string, Document]>([
    ['operators', { q, u: { $set: u } }],
    ['a pipeline', { q, u: [{ $set: u }] }],
    ['multi', { q, u, multi: true }],
    ['another option', { q, u, collation: { locale: 'de' } }],
    ['a flag that is a number', { q, u, upsert: 1 }],
    ['a part of a key', { q: { a: 1 }, u }],
    ['more than a key', { q: { ...q, text: 'y' }, u }],
    ['a sparse index', { q: { s: 1 }, u }],
    ['a path', { q: { a: 1, 'b.c': 'x' }, u }],
    ['an array', { q: { a: 1, b: ['x'] }, u }],
    ['a pattern', { q: { a: 1, b: /x/ }, u }],
    ['null', { q: { a: 1, b: null }, u }],
    ['an embedded document', { q: { a: 1, b: { c: 1 } }, u }],
    ['an operator other than $lt', { q: { ...q, v: { $lte: 1 } }, u }],
    ['two operators', { q: { ...q, v: { $lt: 1, $gt: 0 } }, u }],
    ['two versions', { q: { ...q, v: { $lt: 1 }, w: { $lt: 1 } }, u }],
    ['a version that is text', { q: { ...q, v: { $lt: 'x' } }, u }],
    ['a version at a path', { q: { ...q, 'v.w': { $lt: 1 } }, u }],
    ['a logical operator', { q: { ...q, $and: [{ v: 1 }] }, u }],
    ['an equal key of another type', { q: { a: new Double(1), b: 'x' }, u }],
    ['a stored version that is an array', { q: { ...q, v: { $lt: 3 } }, u }],
    ['another _id', { q, u: { _id: idOf(2), ...u } }],
    ['an _id behind other fields', { q, u: { ...u, _id: idOf(1) } }],
    [
      'an _id that is a document',
      { q: { a: 5, b: 'x' }, u: { _id: { x: 1 }, a: 5 }, upsert: true },
    ],
    ['a name that is a number', { q, u: { ...u, o: { 10: 1, 2: 1 } } }],
    ['a name with $', { q, u: { ...u, o: { $ref: 'x', $id: 1 } } }],
    ['a rare type', { q, u: { ...u, w: new BSONSymbol('x') } }],
    ['more than 16 MiB', { q, u: { ...u, text: 'x'.repeat(16 * 1024 * 1024) } }],
  ])('%s', async (_, operation) => {
    await runBoth(inserts({ _id: idOf(1), a: 1, b: 'x', v: [1] }))
    const before = raw.content(NS)
    expect(await runRaw(operation)).toBeUndefined()
    expect(raw.content(NS)).toEqual(before)
    await runBoth(updates(operation))
  })

  it('a key that belongs to an element of an array', async () => {
    await runBoth(inserts({ _id: idOf(1), a: 1, b: ['x', 'y'] }))
    expect(await runRaw({ q, u })).toBeUndefined()
    await runBoth(updates({ q, u: { ...u, b: ['x'] } }))
  })

  it('a collection that does not exist', async () => {
    for (const server of [raw, decoded]) await server.run({ drop: 'c' })
    const upsert = { q: { _id: idOf(1) }, u, upsert: true }
    expect(await runRaw(upsert)).toBeUndefined()
    await runBoth(updates(upsert))
  })

  it('invalid BSON refuses the command before any operation', async () => {
    const valid = bytesOf({ q, u, upsert: true })
    for (const broken of [valid.subarray(0, -1), Buffer.from(valid).fill(0xff, 4, 5)]) {
      const docs = [valid, broken]
      const answer = await raw.run({ update: 'c' }, { field: 'updates', docs })
      expect(answer).toMatchObject({ ok: new Int32(0), codeName: 'FailedToParse' })
      const inserted = await raw.run({ insert: 'c' }, { field: 'documents', docs })
      expect(inserted).toMatchObject({ ok: new Int32(0), codeName: 'FailedToParse' })
    }
    expect(raw.content(NS).documents).toEqual([])
  })

  it('a malformed operation refuses the command before any operation', async () => {
    await runBoth(updates({ q, u: { _id: idOf(1), ...u }, upsert: true }, { q, u, other: 1 }))
    expect(raw.content(NS).documents).toEqual([])
  })
})

describe('the version', () => {
  const numbers: [unknown, unknown, boolean][] = [
    [new Int32(1), new Int32(2), true],
    [new Int32(2), new Int32(2), false],
    [new Int32(2), new Double(2.5), true],
    [new Double(2.5), new Int32(2), false],
    [new Double(9007199254740992), Long.fromString('9007199254740993'), true],
    [Long.fromString('9007199254740993'), new Double(9007199254740992), false],
    [Long.fromString('9007199254740993'), Long.fromString('9007199254740994'), true],
    [Decimal128.fromString('1.5'), new Int32(2), true],
    [new Double(Number.NaN), new Int32(2), false],
    ['1', new Int32(2), false],
    [null, new Int32(2), false],
    [undefined, new Int32(2), false],
    [true, new Int32(2), false],
    [{ x: 1 }, new Int32(2), false],
  ]

  it.each(numbers)('stored %s is less than %s: %s', async (stored, below, isLess) => {
    const q = { _id: idOf(1), v: { $lt: below } }
    const v = stored === undefined ? {} : { v: stored }
    await runBoth(inserts({ _id: idOf(1), a: 1, ...v }))
    expect(await runRaw({ q, u: isLess ? { a: 1, ...v } : { a: 1 } })).toBeDefined()
    const answer = await runBoth(updates({ q, u: { a: 2 } }))
    expect(answer['n']).toEqual(new Int32(isLess ? 1 : 0))
  })
})

describe('an insert', () => {
  it.each<[string, Document]>([
    ['_id in front', { _id: idOf(1), a: 1, o: { k: 2 } }],
    ['_id behind other fields', { a: 1, _id: idOf(1), o: { k: 2 } }],
    ['_id at the end', { a: 1, o: { k: 2 }, _id: 'é' }],
    ['_id that is a document', { _id: { x: 1 }, a: 1 }],
    ['_id that is a document behind other fields', { a: 1, _id: { x: 1 } }],
    ['_id that is an array', { a: 1, _id: [1] }],
    ['_id with an operator', { _id: { $x: 1 } }],
    ['a name that is a number', { a: 1, 7: 1, _id: idOf(1) }],
    ['rare types', { _id: new BSONSymbol('x'), a: new BSONSymbol('y') }],
    ['a key that is too long', { _id: idOf(1), a: 'x'.repeat(2000) }],
    ['parallel arrays', { _id: idOf(1), o: [{ k: 1 }], a: [1] }],
    ['more than 16 MiB', { _id: idOf(1), text: 'x'.repeat(16 * 1024 * 1024) }],
  ])('%s: as decoded', async (_, doc) => {
    await runBoth(inserts(doc))
    await runBoth(inserts(doc))
  })

  it('without an _id gets a new one', async () => {
    const docs = [bytesOf({ a: 1 }), bytesOf({ a: 2 })]
    const answer = await raw.run({ insert: 'c' }, { field: 'documents', docs })
    expect(answer).toEqual({ n: new Int32(2), ok: new Int32(1) })
    const { cursor } = await raw.run({ find: 'c' })
    expect(cursor.firstBatch.map((doc: Document) => Object.keys(doc))).toEqual([
      ['_id', 'a'],
      ['_id', 'a'],
    ])
    expect(cursor.firstBatch[0]['_id']).toBeInstanceOf(ObjectId)
  })
})

it('a duplicate key has the same error as decoded', async () => {
  await runBoth(inserts({ _id: idOf(1), a: new Double(1), b: 'x', s: 1, v: 2 }))
  const answer = await runBoth({
    ...updates(
      {
        q: { a: new Double(1), b: 'x', v: { $lt: 2 } },
        u: { _id: idOf(2), a: 1, b: 'x' },
        upsert: true,
      },
      { q: { a: 2, b: 'x' }, u: { _id: idOf(1), a: 2, b: 'x' }, upsert: true },
      { q: { a: 3, b: 'x' }, u: { _id: idOf(3), a: 3, b: 'x', s: 1 }, upsert: true },
    ),
    command: { update: 'c', ordered: false },
  })
  expect(answer['writeErrors']).toMatchObject([
    {
      code: new Int32(11000),
      errmsg: 'E11000 duplicate key error collection: d.c index: ab dup key: { a: 1, b: "x" }',
      keyPattern: { a: new Int32(1), b: new Int32(-1) },
    },
    { keyPattern: { _id: new Int32(1) }, keyValue: { _id: idOf(1) } },
    { keyValue: { s: new Int32(1) } },
  ])
})
