import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { castQuery, OPERATORS } from '../../../src/entities/requests/query-language.ts'
import { ApiError, EntityRuleError, InvalidFieldsError } from '../../../src/requests/errors.ts'
import type { Params } from '../../../src/requests/param.ts'
import { useStore } from '../../support/catalog/store.ts'

const context = { timeZone: 'UTC', nowMs: Date.parse('2026-01-28T10:30:15Z') }
const HEX = '65f0c0ffee0123456789abcd'

const PARAMS: Params = {
  _id: { type: 'dbid' },
  sid: { type: 'integer' },
  name: { type: 'array' },
  text: { type: 'string' },
  aid: { type: 'array', of: 'integer' },
  urt: { type: 'datetimearray' },
  effective_date: { type: 'datetime' },
  shared: { type: 'boolean' },
  services: { type: 'array' },
  'services.name': { type: 'array' },
  'services.from': { type: 'datetimearray' },
  birthday: { type: 'array', of: 'datetime' },
  free: { type: 'json' },
  number: { type: 'generated' },
}

const store = useStore()
const cast = (raw: Record<string, unknown>, params = PARAMS) => castQuery(params, raw, context)
const day = (text: string) => new Date(`${text}T00:00:00Z`)

describe('filters', () => {
  it.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{}, {}],
    [{ sid: '18' }, { sid: 18 }],
    [{ _id: HEX }, { _id: new ObjectId(HEX) }],
    [{ _id: { $id: HEX } }, { _id: new ObjectId(HEX) }],
    [{ _id: { $in: [HEX] } }, { _id: { $in: [new ObjectId(HEX)] } }],
    [{ name: 'GOLD' }, { name: { $in: ['GOLD'] } }],
    [{ aid: '17' }, { aid: { $in: [17] } }],
    [{ aid: ['17', 18] }, { aid: { $in: [17, 18] } }],
    [{ aid: { $gte: '5', $lt: 7 } }, { aid: { $gte: 5, $lt: 7 } }],
    [{ sid: { $ne: null, $nin: [1, null] } }, { sid: { $ne: null, $nin: [1, null] } }],
    [
      { urt: { $gte: '2026-03-01', $lt: 'tomorrow', $exists: '1' } },
      { urt: { $gte: day('2026-03-01'), $lt: day('2026-01-29'), $exists: true } },
    ],
    [{ effective_date: '2026-03-01' }, { effective_date: day('2026-03-01') }],
    [{ effective_date: { $lte: 'today' } }, { effective_date: { $lte: day('2026-01-28') } }],
    [{ birthday: { sec: 1_767_225_600, usec: 0 } }, { birthday: day('2026-01-01') }],
    [{ birthday: '2026-01-01' }, { birthday: { $in: [day('2026-01-01')] } }],
    [{ shared: 'false' }, { shared: false }],
    [{ name: { $regex: '^call', $options: 'i' } }, { name: { $regex: '^call', $options: 'i' } }],
    [{ name: { $not: { $regex: 'a.*b' } } }, { name: { $not: { $regex: 'a.*b' } } }],
    [{ services: { $size: '2' } }, { services: { $size: 2 } }],
    [{ name: { $all: ['A'], $exists: true } }, { name: { $all: ['A'], $exists: true } }],
    [
      { services: { $elemMatch: { name: 'TV', from: { $gt: '2026-01-01' } } } },
      { services: { $elemMatch: { name: { $in: ['TV'] }, from: { $gt: day('2026-01-01') } } } },
    ],
    [{ aid: { $elemMatch: { $gt: '3' } } }, { aid: { $elemMatch: { $gt: 3 } } }],
    [{ services: { name: 'TV' } }, { services: { name: 'TV' } }],
    [{ free: { a: [1] } }, { free: { a: [1] } }],
    [{ free: 'x' }, { free: 'x' }],
    [
      { sid: 1, $or: [{ aid: 1 }, { $and: [{ text: 'a' }, { sid: { $in: ['2'] } }] }] },
      {
        sid: 1,
        $or: [{ aid: { $in: [1] } }, { $and: [{ text: 'a' }, { sid: { $in: [2] } }] }],
      },
    ],
  ])('%j', (raw, filter) => {
    expect(cast(raw)).toEqual(filter)
  })

  it.each<[Record<string, unknown>, string]>([
    [{ sidd: 1 }, "query.sidd is not known here, 'sid' is"],
    [{ wholly_other: 1 }, 'query.wholly_other is not known here'],
    [{ $where: '1' }, 'query.$where is not an operator'],
    [{ $expr: {} }, 'query.$expr is not an operator'],
    [{ $nor: [{ sid: 1 }] }, 'query.$nor is not an operator'],
    [{ sid: { $function: {} } }, 'query.sid.$function is not an operator'],
    [{ sid: { $where: '1' } }, 'query.sid.$where is not an operator'],
    [{ $or: [{ $where: '1' }] }, 'query.$or.0.$where is not an operator'],
    [{ $or: [{ other: 1 }] }, 'query.$or.0.other is not known'],
    [{ $or: [] }, 'query.$or must be a list'],
    [{ $or: { sid: 1 } }, 'query.$or must be a list'],
    [{ $and: [1] }, 'query.$and.0 must be an object'],
    [{ sid: { $gt: 1, a: 2 } }, 'query.sid.a is mixed with operators'],
    [{ sid: { a: 1 } }, 'query.sid must be an integer'],
    [{ sid: [1] }, 'query.sid must be an integer'],
    [{ sid: null }, 'query.sid must not be null'],
    [{ sid: '' }, 'query.sid must be an integer'],
    [{ sid: { $in: 1 } }, 'query.sid.$in must be a list'],
    [{ sid: { $in: [1, 'x'] } }, 'query.sid.$in.1 must be an integer'],
    [{ sid: { $gt: null } }, 'query.sid.$gt must be an integer'],
    [{ sid: { $exists: 'x' } }, 'query.sid.$exists must be true or false'],
    [{ sid: { $regex: '1' } }, 'query.sid.$regex cannot be searched'],
    [{ sid: { $not: 1 } }, 'query.sid.$not must be an object of operators'],
    [{ sid: { $not: { $where: 1 } } }, 'query.sid.$not.$where is not an operator'],
    [{ sid: { $elemMatch: { $gt: 1 } } }, 'query.sid.$elemMatch must be conditions'],
    [{ sid: { $size: 1 } }, 'query.sid.$size is only for lists'],
    [{ name: { $size: -1 } }, 'query.name.$size must be an integer'],
    [{ urt: '2026-01-01' }, 'query.urt must be an object of operators'],
    [{ urt: { $gt: 'soon' } }, 'query.urt.$gt must be a date'],
    [{ effective_date: 'soon' }, 'query.effective_date must be a date'],
    [{ _id: 'x' }, 'query._id must be an id'],
    [{ name: { a: { $where: 1 } } }, 'query.name.a.$where is a name that begins with $'],
    [{ name: [{ $where: 1 }] }, 'query.name.0.$where is a name that begins with $'],
    [{ name: { $in: [{ $where: 1 }] } }, 'query.name.$in.0.$where is a name'],
    [{ name: { $eq: { 'a.b': 1 } } }, 'query.name.$eq.a.b is a name with a dot'],
    [{ services: { $elemMatch: { other: 1 } } }, "'services.other' is not declared"],
    [{ services: { $elemMatch: {} } }, 'must be conditions'],
    [{ number: 1 }, 'query.number cannot be searched by'],
    [{ name: { $options: 'i' } }, 'is missing, but $options is given'],
    [{ name: { $regex: 1 } }, 'must be a text'],
    [{ name: { $regex: '(' } }, 'is not a regular expression'],
    [{ name: { $regex: 'a', $options: 'x' } }, '$options other than i, m, s'],
    [{ name: { $regex: 'a', $options: 1 } }, '$options other than i, m, s'],
    [{ name: { $regex: '(a+)+$' } }, 'cannot be run in bounded time'],
    [{ name: { $regex: 'a'.repeat(257) } }, 'at most 256 characters'],
    [{ name: { $regex: 'a\0' } }, 'no zero byte'],
    [{ name: { $regex: '[^]\\u0041' } }, 'stores do not know'],
    [{ name: { $in: Array.from({ length: 1_001 }, () => 1) } }, 'more than 1000 members'],
    [{ free: Array.from({ length: 101 }, () => Array(100).fill(1)) }, 'more than 10000 values'],
    [{ free: { a: { a: { a: { a: { a: { a: { a: { a: 1 } } } } } } } } }, 'deeper than 8 levels'],
    [{ free: [[[[[[[[[1]]]]]]]]] }, 'deeper than 8 levels'],
    [JSON.parse('{"__proto__":1}'), 'query.__proto__ is a name that is not allowed'],
    [{ constructor: 1 }, 'query.constructor is a name that is not allowed'],
    [{ sid: 'x', aid: 'y', other: 1 }, 'query.sid must'],
    [{ sid: 'x', aid: 'y', other: 1 }, 'query.aid must'],
  ])('%j is refused', (raw, text) => {
    expect(() => cast(raw)).toThrow(InvalidFieldsError)
    expect(() => cast(raw)).toThrow(text)
  })

  it('need mandatory keys, and obey patterns and options', () => {
    const params: Params = {
      _id: { type: 'dbid', mandatory: true },
      key: { type: 'array', of: 'string', pattern: 'key' },
      mode: { type: 'string', options: ['a'] },
    }
    for (const raw of [{}, { _id: '' }, { _id: null }, { $or: [{ _id: HEX }] }]) {
      expect(() => cast(raw, params)).toThrow(EntityRuleError)
      expect(() => cast(raw, params)).toThrow('query._id is mandatory')
    }
    expect(() => cast({ _id: HEX, key: 'a b' }, params)).toThrow(EntityRuleError)
    expect(() => cast({ _id: HEX, mode: 'b' }, params)).toThrow('must be one of a')
  })
})

/** Operators and keys of a filter, in every condition. */
function checkFilter(filter: Record<string, unknown>, prefix = ''): void {
  for (const [name, value] of Object.entries(filter)) {
    if (name === '$and' || name === '$or') {
      for (const member of value as Record<string, unknown>[]) checkFilter(member)
    } else {
      expect(Object.keys(PARAMS)).toContain(prefix + name)
      checkCondition(value, prefix + name)
    }
  }
}

function checkCondition(value: unknown, name: string): void {
  if (typeof value !== 'object' || value === null) return
  if (value instanceof Date || value instanceof ObjectId) return
  for (const [key, member] of Object.entries(value)) {
    if (key.startsWith('$')) expect(OPERATORS).toContain(key)
    const hasConditions = key === '$elemMatch' && !Object.keys(member)[0]?.startsWith('$')
    if (hasConditions) checkFilter(member, `${name}.`)
    else checkCondition(member, name)
  }
}

/** Queries that are nearly valid. */
function queries() {
  const operators = [...OPERATORS, '$where', '$expr', '$nor', '$function', '__proto__']
  const names = fc.constantFrom(...Object.keys(PARAMS), ...operators, 'a', 'name')
  const leaf = fc.oneof(
    fc.integer(),
    fc.constantFrom('1', HEX, '2026-01-01', 'true', 'a.*'),
    fc.boolean(),
    fc.constant(null),
  )
  const { tree } = fc.letrec((tie) => ({
    tree: fc.oneof(
      { depthSize: 'small' },
      leaf,
      fc.dictionary(names, tie('tree'), { maxKeys: 3 }),
      fc.array(tie('tree'), { maxLength: 3 }),
    ),
  }))
  return fc.dictionary(names, fc.oneof(tree, fc.jsonValue()), { maxKeys: 2 })
}

it('a cast filter has declared keys and known operators only, for any JSON', () => {
  let kept = 0
  fc.assert(
    fc.property(queries(), (raw) => {
      try {
        checkFilter(cast(raw))
        if (Object.keys(raw).length > 0) kept += 1
      } catch (error) {
        if (!(error instanceof ApiError)) throw error
      }
    }),
    { numRuns: 5_000 },
  )
  expect(kept).toBeGreaterThan(100)
})

function castOrNull(raw: Record<string, unknown>) {
  try {
    return cast(raw)
  } catch {
    return null
  }
}

it('the store accepts every cast filter', async () => {
  const { lines, run } = await store.open()
  const document = { sid: 1, name: ['a'], services: [{ name: 'TV' }], text: 'x' }
  await run('insert', () => lines.insertOne({ ...document } as never))
  const filters = fc
    .sample(queries(), { numRuns: 6_000, seed: 8 })
    .map(castOrNull)
    .filter((filter) => filter !== null && Object.keys(filter).length > 0)
  expect(filters.length).toBeGreaterThan(100)
  for (const filter of filters) {
    await run(JSON.stringify(filter), () => lines.find(filter ?? {}).toArray())
  }
  const count = (query: Record<string, unknown>) =>
    run('count', () => lines.countDocuments(cast(query)))
  const found = { name: { $regex: '^A', $options: 'i' }, services: { $elemMatch: { name: 'TV' } } }
  expect(await count({ ...found, sid: '1' })).toBe(1)
  expect(await count({ ...found, sid: '2' })).toBe(0)
})
