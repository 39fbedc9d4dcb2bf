import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { BSON, type Document } from 'bson'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { parseSort } from '../src/query/sort.ts'
import { CollectionCatalog, type IndexSpec } from '../src/store/catalog.ts'
import { openStore, type Store } from '../src/store/open.ts'
import { type Plan, planQuery } from '../src/store/plan.ts'
import { Storage, StorageLostError } from '../src/store/storage.ts'
import { type Doc, decode } from '../src/values/document.ts'

let folder: string
let store: Store
const NS = 'db.c'

const typed = (doc: Document): Doc => decode(BSON.serialize(doc))

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tg-plan-'))
  store = await openStore(folder)
})

afterEach(async () => {
  await store.storage.close()
  rmSync(folder, { recursive: true, force: true })
})

async function createIndex(key: Document, options: Partial<IndexSpec> = {}): Promise<void> {
  const name = Object.keys(key).join('+')
  const spec = { key: typed(key), name, unique: false, sparse: false, partial: undefined }
  await store.storage.write(() => store.schema.createIndex(NS, { ...spec, ...options }))
}

function plan(filter: Document, sort?: Document): Plan {
  const collection = store.catalog.find(NS)
  if (!collection) throw new Error('there is no collection')
  return planQuery(collection, typed(filter), parseSort(sort && typed(sort)))
}

/** Index, ranges and order such as `a+b x1 sorted`, or the kind of scan. */
function described(filter: Document, sort?: Document): string {
  const chosen = plan(filter, sort)
  if (chosen.kind === 'union') return `union of ${chosen.plans.length}`
  if (chosen.kind === 'scan') return 'scan'
  const { index, ranges, reverse, sorted } = chosen
  const order = sort ? (sorted ? ` sorted${reverse ? ' backwards' : ''}` : ' unsorted') : ''
  return `${index.name} x${ranges.length}${order}`
}

/** The number of documents examined for a filter. */
function candidates(filter: Document): number {
  const chosen = plan(filter)
  if (chosen.kind !== 'index') return Number.NaN
  return chosen.ranges.reduce((sum, range) => {
    return (
      sum + [...store.records.scanIndex(range, false)].filter((record) => record !== null).length
    )
  }, 0)
}

describe('plans', () => {
  beforeEach(async () => {
    await createIndex({ sid: 1 }, { unique: true })
    await createIndex({ aid: 1, urt: -1 })
    await createIndex({ tags: 1 })
    await createIndex({ 'o.k': 1 }, { sparse: true })
    await createIndex({ p: 1 }, { partial: typed({ live: true }) })
    await store.storage.write(() => {
      for (let n = 0; n < 40; n++) {
        store.records.insert(NS, typed({ _id: n, sid: n, aid: n % 4, urt: n, tags: [n, -n], p: n }))
      }
    })
  })

  it.each<[filter: Document, sort: Document | undefined, expected: string]>([
    [{}, undefined, 'scan'],
    [{ unknown: 1 }, undefined, 'scan'],
    [{ _id: 5 }, undefined, '_id_ x1'],
    [{ sid: 1, aid: 1 }, undefined, 'sid x1'],
    [{ sid: { $in: [1, 2] }, aid: 1 }, undefined, 'sid x2'],
    [{ sid: { $in: [3, 1, 1, 2] } }, { sid: 1 }, 'sid x3 sorted'],
    [{ aid: 1 }, { urt: -1 }, 'aid+urt x1 sorted'],
    [{ aid: 1 }, { urt: 1 }, 'aid+urt x1 sorted backwards'],
    [{ aid: { $in: [1, 2] } }, { urt: 1 }, 'aid+urt x2 unsorted'],
    [{ aid: { $in: [1, 2] } }, { aid: 1, urt: -1 }, 'aid+urt x2 sorted'],
    [{}, { aid: -1, urt: 1 }, 'aid+urt x1 sorted backwards'],
    [{}, { aid: 1, urt: 1 }, 'scan'],
    [{ aid: 1, urt: { $gte: 5, $lt: 9 } }, undefined, 'aid+urt x1'],
    [{ urt: 5 }, undefined, 'scan'],
    [{ aid: null }, undefined, 'scan'],
    [{ aid: /x/ }, undefined, 'scan'],
    [{ tags: 3 }, { tags: 1 }, 'tags x1 unsorted'],
    [{ tags: { $gt: 3 } }, { tags: 1 }, 'tags x1 unsorted'],
    [{ 'o.k': 1 }, undefined, 'o.k x1'],
    [{ 'o.k': { $exists: true } }, { 'o.k': 1 }, 'scan'],
    [{ p: 1 }, undefined, 'scan'],
    [{ p: 1, live: true }, undefined, 'p x1'],
    [{ $and: [{ sid: 1 }, { p: 2 }] }, undefined, 'sid x1'],
    [{ $or: [{ sid: 1 }, { tags: 2 }] }, undefined, 'union of 2'],
    [{ $or: [{ sid: 1 }, { p: 2 }] }, undefined, 'scan'],
  ])('%j sorted by %j', (filter, sort, expected) => {
    expect(described(filter, sort)).toBe(expected)
  })

  it.each<[filter: Document, count: number]>([
    [{ sid: 7 }, 1],
    [{ sid: { $in: [7, 8, 99] } }, 2],
    [{ sid: { $gte: 10, $lt: 15 } }, 5],
    [{ sid: { $gt: 35 } }, 4],
    [{ sid: { $gt: 'text' } }, 0],
    [{ aid: 2, urt: { $gt: 20, $lte: 30 } }, 3],
    [{ tags: { $gte: 38, $lt: 39 } }, 2],
  ])('examine no more documents than necessary: %j', (filter, count) => {
    expect(candidates(filter)).toBe(count)
  })
})

describe('storage', () => {
  it('a write that fails unexpectedly undoes only itself', async () => {
    const insert = (ns: string, _id: number) =>
      store.storage.write(() => {
        store.records.insert(ns, typed({ _id }))
      })
    const work = [
      insert('db.a', 1),
      store.storage.write(() => {
        store.records.insert('db.b', typed({ _id: 1 }))
        throw new TypeError('a defect')
      }),
      insert('db.a', 2),
    ]
    const results = await Promise.allSettled(work)
    expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
    expect(store.catalog.list().map(({ ns }) => ns)).toEqual(['db.a'])
    const collection = store.catalog.find('db.a')
    expect(collection && store.records.count(collection)).toBe(2)
    await insert('db.b', 1)
  })

  it('writes nothing after another server has opened the folder', async () => {
    const other = new Storage(folder, () => {})
    await new CollectionCatalog(other).open()
    await other.close()
    const insert = store.storage.write(() => store.records.insert(NS, typed({ a: 1 })))
    await expect(insert).rejects.toBeInstanceOf(StorageLostError)
  })
})
