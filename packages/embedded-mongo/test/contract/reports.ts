/** Aggregations of reports: decimals, dates as text, joins. */
import { Decimal128, type Document, Long } from 'mongodb'
import { describe, expect, it } from 'vitest'
import { type Any, type Database, filled, fresh, refused } from './collection.ts'

const AT = new Date('2026-03-28T23:30:15.007Z')

const dateText = (format: string, timezone?: string): Document => ({
  $dateToString: { date: '$at', format, ...(timezone !== undefined && { timezone }) },
})

const DATES: readonly [format: string, zone: string | undefined, text: string][] = [
  ['%Y-%m-%d', undefined, '2026-03-28'],
  ['%Y-%m-%d', 'Europe/Berlin', '2026-03-29'],
  ['%Y-%m-%d %H:%M:%S.%L', 'America/New_York', '2026-03-28 19:30:15.007'],
  ['%Y-%m-%dT%H:%M:%S%z', 'Asia/Kolkata', '2026-03-29T05:00:15+0530'],
  ['%j %u %w %G-%V', 'UTC', '087 6 7 2026-13'],
  ['%d/%m/%Y %%', '+02:00', '29/03/2026 %'],
  ['%Z', '-0330', '-210'],
]

const toDecimal = (input: unknown): Document => ({
  $convert: { input, to: 'decimal', onError: null, onNull: null },
})

const plain = (value: unknown): string => Number(String(value)).toString()

function dateContract(db: Database): void {
  it.each(DATES)('date %s in %s', async (format, zone, text) => {
    const collection = await filled(db, [{ _id: 1, at: AT }])
    const found = collection.aggregate([{ $project: { text: dateText(format, zone) } }])
    expect(await found.toArray()).toEqual([{ _id: 1, text }])
  })

  it('dates that are absent are null, and other types are refused', async () => {
    const collection = await filled(db, [{ _id: 1 }, { _id: 2, at: null }, { _id: 3, at: 'x' }])
    const project = { $project: { text: dateText('%Y') } }
    const absent = await collection.aggregate([{ $match: { _id: { $lt: 3 } } }, project])
    expect(await absent.toArray()).toEqual([
      { _id: 1, text: null },
      { _id: 2, text: null },
    ])
    await refused(16_006, collection.aggregate([project]).toArray())
    const unknownZone = { $project: { text: dateText('%Y', 'Mars/Olympus') } }
    await refused(40_485, collection.aggregate([unknownZone]).toArray())
    await refused(18_536, collection.aggregate([{ $project: { a: dateText('%Q') } }]).toArray())
  })
}

function decimalContract(db: Database): void {
  it('sums of decimals are exact where sums of doubles are not', async () => {
    const amounts = [0.1, 0.2, 0.3, -0.6, '1.05', 'text', null, Long.fromNumber(7), true]
    const collection = await filled(
      db,
      amounts.map((v, index) => ({ _id: index, k: index < 4 ? 1 : 2, v })),
    )
    const fields = {
      total: { $sum: toDecimal('$v') },
      mean: { $avg: toDecimal('$v') },
      none: { $sum: toDecimal('$absent') },
    }
    const found = await collection
      .aggregate([{ $group: { _id: '$k', ...fields } }, { $sort: { _id: 1 } }])
      .toArray()
    expect(found.map(({ total, mean, none }) => [plain(total), plain(mean), none])).toEqual([
      ['0', '0', 0],
      ['9.05', '3.0166666666666666', 0],
    ])
    expect(found[0]?.['total']).toBeInstanceOf(Decimal128)
  })

  it('types are named, and a failed conversion is an error or a value', async () => {
    const collection = await filled(db, [{ _id: 1, d: AT, s: 'x', n: 1.5 }])
    const $project = {
      d: { $type: '$d' },
      s: { $type: '$s' },
      n: { $type: '$n' },
      no: { $type: '$no' },
      e: { $convert: { input: '$s', to: 'decimal', onError: 'bad', onNull: 'none' } },
      z: { $convert: { input: '$no', to: 'decimal', onError: 'bad', onNull: 'none' } },
    }
    expect(await collection.aggregate([{ $project }]).toArray()).toEqual([
      { _id: 1, d: 'date', s: 'string', n: 'double', no: 'missing', e: 'bad', z: 'none' },
    ])
    const failing = { $project: { s: { $toDecimal: '$s' } } }
    await refused(241, collection.aggregate([failing]).toArray())
  })
}

function joinContract(db: Database): void {
  it('$lookup adds the documents with an equal field', async () => {
    const owners = await filled(db, [
      { _id: 1, sid: 7, to: 10, plan: 'OLD' },
      { _id: 2, sid: 7, to: 99, plan: 'NEW' },
      { _id: 3, sid: null, to: 99, plan: 'NONE' },
      { _id: 4, to: 99, plan: 'ABSENT' },
    ])
    const lines = await filled(db, [
      { _id: 1, sid: 7 },
      { _id: 2, sid: 8 },
      { _id: 3 },
      { _id: 4, sid: [7, 8] },
    ])
    const $lookup = {
      from: owners.collectionName,
      localField: 'sid',
      foreignField: 'sid',
      as: 'owner',
      pipeline: [{ $match: { to: { $gt: 50 } } }, { $project: { _id: 0, plan: 1 } }],
    }
    expect(await lines.aggregate([{ $lookup }]).toArray()).toEqual([
      { _id: 1, sid: 7, owner: [{ plan: 'NEW' }] },
      { _id: 2, sid: 8, owner: [] },
      { _id: 3, owner: [{ plan: 'NONE' }, { plan: 'ABSENT' }] },
      { _id: 4, sid: [7, 8], owner: [{ plan: 'NEW' }] },
    ])
    const grouped = [
      { $lookup },
      { $unwind: { path: '$owner', preserveNullAndEmptyArrays: true } },
      { $group: { _id: '$owner.plan', n: { $sum: 1 } } },
      { $sort: { _id: 1 } },
    ]
    expect(await lines.aggregate(grouped).toArray()).toEqual([
      { _id: null, n: 1 },
      { _id: 'ABSENT', n: 1 },
      { _id: 'NEW', n: 2 },
      { _id: 'NONE', n: 1 },
    ])
    const missing = { $lookup: { ...$lookup, from: fresh(db).collectionName } }
    expect((await lines.aggregate([missing]).toArray()).map(({ owner }) => owner)).toEqual([
      [],
      [],
      [],
      [],
    ])
  })
}

function fieldContract(db: Database): void {
  it('stages that read few fields see the same values as those that read all', async () => {
    const docs: readonly Any[] = [
      { _id: 1, a: { b: 1, c: [1, 2] }, t: ['x', 'y'], n: 5, other: 'o' },
      { _id: 2, a: { b: 2 }, t: [], n: Long.fromNumber(6) },
      { _id: 3, a: null, n: 7.5, t: 'z' },
    ]
    const collection = await filled(db, docs)
    const stages: Document[] = [
      { $match: { $or: [{ 'a.b': { $gt: 0 } }, { $expr: { $gt: ['$n', 7] } }] } },
      { $addFields: { 'a.d': { $add: ['$n', 1] } } },
      { $unwind: { path: '$t', preserveNullAndEmptyArrays: true } },
      { $sort: { n: -1, t: 1 } },
    ]
    const $group = { _id: '$t', n: { $sum: '$n' }, all: { $push: '$a' } }
    const few = collection.aggregate([...stages, { $group }, { $sort: { _id: 1 } }]).toArray()
    const whole = { ...$group, docs: { $first: '$$ROOT' } }
    const all = await collection
      .aggregate([...stages, { $group: whole }, { $sort: { _id: 1 } }, { $unset: 'docs' }])
      .toArray()
    expect(await few).toEqual(all)
    expect(all).toHaveLength(4)
  })
}

export function reportContract(db: Database): void {
  describe('aggregations of reports', () => {
    dateContract(db)
    decimalContract(db)
    joinContract(db)
    fieldContract(db)
  })
}
