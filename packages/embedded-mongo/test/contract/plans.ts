import { type Collection, type Document, Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled } from './collection.ts'

/** A separate generator makes a failure repeatable: a 32-bit LCG. */
function randomOf(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
}

type Random = ReturnType<typeof randomOf>

function randomScalar(random: Random): unknown {
  const choices = [
    () => random(6),
    () => random(6),
    () => random(12) / 2,
    () => Long.fromNumber(random(6)),
    () => 'abcde'[random(5)],
    () => null,
    () => random(2) === 0,
    () => new Date(random(5) * 1000),
    () => ({ x: random(3) }),
  ]
  return choices[random(choices.length)]!()
}

function randomValue(random: Random, arrays = true): unknown {
  if (!arrays || random(8) > 0) return randomScalar(random)
  return Array.from({ length: random(4) }, () => randomValue(random))
}

/** Only one field is an array: an index key cannot contain two. */
function randomDoc(random: Random, _id: number): Any {
  const doc: Any = { _id }
  const withArrays = ['a', 'b', 'c', 'o', 'n'][random(5)]
  for (const field of ['a', 'b', 'c']) {
    if (random(5) > 0) doc[field] = randomValue(random, field === withArrays)
  }
  const nested = () => ({ n: randomValue(random, withArrays === 'n'), m: random(4) })
  if (random(2) === 0) doc['o'] = withArrays === 'o' ? [nested(), nested()] : nested()
  return doc
}

function randomCondition(random: Random): unknown {
  const value = () => randomValue(random)
  const choices = [
    value,
    value,
    () => ({ $gt: value() }),
    () => ({ $gte: value(), $lt: value() }),
    () => ({ $lte: value() }),
    () => ({ $in: [value(), value(), value()] }),
    () => ({ $ne: value() }),
    () => ({ $exists: random(2) === 0 }),
  ]
  return choices[random(choices.length)]!()
}

function randomFilter(random: Random): Document {
  const filter: Document = {}
  for (const field of ['a', 'b', 'o.n', 'o.m']) {
    if (random(3) === 0) filter[field] = randomCondition(random)
  }
  const clause = () => ({ [['a', 'b', 'c'][random(3)]!]: randomCondition(random) })
  if (random(5) === 0) filter['$or'] = [clause(), clause()]
  if (random(5) === 0) filter['$and'] = [clause(), clause()]
  return filter
}

const INDEXES: readonly Document[] = [
  { a: 1 },
  { a: -1, b: 1 },
  { b: 1, a: -1, c: 1 },
  { 'o.n': 1 },
  { 'o.m': -1, a: 1 },
]

const SORTS: readonly Document[] = [
  { a: 1, _id: 1 },
  { a: -1, b: 1, _id: 1 },
  { b: -1, a: 1, _id: -1 },
  { _id: -1 },
]

async function ids(collection: Collection<Any>, filter: Document, sort: Document) {
  const found = await collection.find(filter).sort(sort).toArray()
  return found.map(({ _id }) => _id)
}

export function planContract(db: Database): void {
  describe('queries with indexes', () => {
    it.each([1, 2, 3, 4])('return the same results as without indexes (seed %i)', async (seed) => {
      const random = randomOf(seed)
      const docs = Array.from({ length: 120 }, (_, i) => randomDoc(random, i))
      const plain = await filled(db, docs)
      const indexed = await filled(db, docs)
      for (const key of INDEXES) await indexed.createIndex(key)
      for (let round = 0; round < 150; round++) {
        const filter = randomFilter(random)
        const sort = SORTS[random(SORTS.length)]!
        const where = JSON.stringify({ seed, round, filter, sort })
        expect(await ids(indexed, filter, sort), where).toEqual(await ids(plain, filter, sort))
      }
    })

    it('stay correct while documents change', async () => {
      const random = randomOf(5)
      const docs = Array.from({ length: 60 }, (_, i) => randomDoc(random, i))
      const plain = await filled(db, docs)
      const indexed = await filled(db, docs)
      for (const key of INDEXES) await indexed.createIndex(key)
      for (let round = 0; round < 120; round++) {
        const _id = random(60)
        const { _id: _, ...doc } = randomDoc(random, _id)
        for (const collection of [plain, indexed]) {
          if (round % 5 === 0) await collection.deleteOne({ _id })
          else await collection.replaceOne({ _id }, doc, { upsert: true })
        }
        const filter = randomFilter(random)
        const sort = { _id: 1 }
        const where = JSON.stringify({ round, filter })
        expect(await ids(indexed, filter, sort), where).toEqual(await ids(plain, filter, sort))
      }
    })
  })
}
