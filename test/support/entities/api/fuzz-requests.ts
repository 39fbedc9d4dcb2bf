/** Random requests of any collection and action: valid, nearly valid, and hostile. */
import fc from 'fast-check'
import { DEFINITIONS, dottedParam } from '../../../../src/entities/definitions/collections.ts'
import type {
  ActionName,
  CollectionDefinition,
} from '../../../../src/entities/definitions/definition.ts'
import type { Param, Params } from '../../../../src/requests/param.ts'
import { type Fields, requestOf, type Way } from './api-server.ts'
import { ORDINARY } from './creators.ts'

export interface FuzzRequest {
  collection: string
  store: string
  action: string
  query: string
  init: RequestInit
}

/** Existing ids and keys of each collection, so that some requests find an entity; it grows. */
export type Existing = ReadonlyMap<string, { ids: string[]; keys: unknown[] }>

/** Import and export transfer files, and have their own tests. */
const APART: readonly ActionName[] = ['import', 'export']

const CALLS = [...DEFINITIONS.values()].flatMap((definition) =>
  Object.keys(definition.actions)
    .filter((action) => !APART.includes(action as ActionName))
    .map((action) => ({ definition, action: action as ActionName })),
)

const HOSTILE_TEXTS = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '💥',
  '__proto__',
  'constructor',
  'toString',
  '$where',
  '$function',
  '{"$gt":""}',
  "'; return true; //",
  '../../etc/passwd',
  '%00',
  '%',
  'NaN',
  'Infinity',
  '-0',
  '1e309',
  '9007199254740993',
  '0x10',
  '1_000',
  'null',
  'undefined',
  '9999-12-31',
  '0000-00-00',
  '+1000000 years',
  '2026-02-30',
  '2026-01-01T24:00:00Z',
  '(a+)+$',
  '[',
  'x'.repeat(5000),
  'A'.repeat(3000),
]

const hostileText = fc.constantFrom(...HOSTILE_TEXTS)

/** Existing ids and keys of a collection. */
interface Names {
  id: fc.Arbitrary<string>
  key: fc.Arbitrary<unknown>
}

const hostile: fc.Arbitrary<unknown> = fc.oneof(
  ...['$where', '$function', '$expr', '$accumulator', '$jsonSchema', '$text', '$comment'].map(
    (name) =>
      fc
        .constantFrom('sleep(1000)', { body: 'return 1', args: [], lang: 'js' }, 1)
        .map((value) => ({ [name]: value })),
  ),
  fc.constantFrom<unknown>(
    { $gt: '' },
    { $ne: null },
    { $regex: '(a+)+$' },
    { $regex: '.*', $options: 'x' },
    { $in: [{ $where: '1' }] },
    { $not: { $not: { $not: {} } } },
    { $elemMatch: { $where: 1 } },
    { $size: -1 },
    { $exists: 'x' },
    { $all: {} },
    { $mod: [0, 0] },
    { $type: 2 },
    { $or: [] },
    { $and: [{}] },
    { $nor: [{}] },
    { $set: { a: 1 } },
    { $unset: 1 },
    { $id: 'x' },
    { $ref: 'plans', $id: 1 },
    { sec: 1e20, usec: -1 },
    { sec: '1', usec: '1' },
    { a: { $where: 1 } },
    [{ $where: 1 }],
    [[[]]],
    { 'a.b': 1 },
    { '': 1 },
    { 'a\u0000': 1 },
    JSON.parse('{"__proto__":{"polluted":true}}'),
    JSON.parse('{"constructor":{"prototype":{"polluted":true}}}'),
    deep(40),
    deep(800),
    Array.from({ length: 3000 }, () => 1),
    'y'.repeat(100_000),
  ),
)

function deep(levels: number): unknown {
  let value: unknown = 1
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  return value
}

const number = fc.oneof(
  fc.integer({ min: -3, max: 30 }),
  fc.constantFrom(0, -0, 0.1, 1e-12, 1e21, 2 ** 53, -(2 ** 53), 5e-324, 1.7e308),
)
const day = fc.integer({ min: -400, max: 700 }).map((days) => {
  return new Date(Date.UTC(2026, 0, 1) + days * 86_400_000).toISOString().slice(0, 10)
})
const date: fc.Arbitrary<unknown> = fc.oneof(
  { arbitrary: day, weight: 6 },
  fc.constantFrom<unknown>('now', 'tomorrow', 'yesterday +1 week', { sec: 1767225600, usec: 0 }),
  day.map((text) => `${text}T10:00:00+02:00`),
)
const anyJson = fc.jsonValue({ maxDepth: 3 })

/** A member of a list that may have grown since. */
function oneOf<T>(list: () => readonly T[], otherwise: T): fc.Arbitrary<T> {
  return fc.nat(10_000).map((index) => {
    const now = list()
    return now[index % now.length] ?? otherwise
  })
}

/** A value of the declared type. */
function rightValueOf(param: Param, names: Names): fc.Arbitrary<unknown> {
  const { key } = names
  const text = fc.oneof(
    { arbitrary: fc.oneof(key, fc.constantFrom('A', 'GOLD')), weight: 4 },
    fc.string({ maxLength: 10 }),
  )
  return param.options !== undefined
    ? fc.constantFrom(...param.options)
    : ofType(param, text, names)
}

/** Mostly a value of the declared type. */
function anyValueOf(param: Param, names: Names): fc.Arbitrary<unknown> {
  const right = rightValueOf(param, names)
  return fc.oneof(
    { arbitrary: right, weight: 8 },
    { arbitrary: anyJson, weight: 2 },
    { arbitrary: hostile, weight: 1 },
    { arbitrary: hostileText, weight: 1 },
  )
}

function ofType(param: Param, text: fc.Arbitrary<unknown>, { id }: Names): fc.Arbitrary<unknown> {
  switch (param.type) {
    case 'integer':
    case 'float':
    case 'number':
      return number
    case 'boolean':
      return fc.constantFrom(true, false, 'true', '0', 1)
    case 'datetime':
      return date
    case 'datetimearray':
      return fc.record({ $gte: date, $lt: date }, { requiredKeys: [] })
    case 'dbid':
      return fc.oneof(
        id,
        id.map(($id) => ({ $id })),
        fc.constant('f'.repeat(24)),
      )
    case 'email':
      return fc.emailAddress()
    case 'array':
      return fc.oneof(text, fc.array(fc.oneof(text, number, anyJson), { maxLength: 3 }), anyJson)
    default:
      return fc.oneof(text, anyJson)
  }
}

/** Some of the declared parameters, and sometimes an undeclared one. */
function randomFields(params: Params, names: Names): fc.Arbitrary<Fields> {
  const declared = Object.entries(params).map(([name, param]) => [name, anyValueOf(param, names)])
  const some = fc.record(Object.fromEntries(declared) as Record<string, fc.Arbitrary<unknown>>, {
    requiredKeys: [],
  })
  const strange = fc.tuple(
    fc.oneof(hostileText, fc.constantFrom('$or', '$and', '$where', 'rev', 'deleted', 'rates.A.b')),
    fc.oneof(hostile, anyJson),
  )
  return fc.oneof(
    { arbitrary: some, weight: 5 },
    fc.tuple(some, strange).map(([fields, [name, value]]) => own(fields, name, value)),
    fc.tuple(some, hostile).map(([fields, value]) => ({ ...fields, ...(value as object) })),
  )
}

/** Also sets `__proto__` as an own property. */
function own(fields: Fields, name: string, value: unknown): Fields {
  const result = { ...fields }
  Object.defineProperty(result, name, { value, enumerable: true, configurable: true })
  return result
}

const options = fc.oneof(
  { arbitrary: fc.constant(undefined), weight: 4 },
  fc.record(
    {
      or_fields: fc.oneof(fc.constantFrom(['name', 'key'], 'name'), anyJson),
      push_fields: changes(),
      pull_fields: changes(),
    },
    { requiredKeys: [] },
  ),
  hostile,
)

function changes(): fc.Arbitrary<unknown> {
  const field_name = fc.constantFrom('services', 'imsi', 'firstname', '__proto__', '$a', 'a.b')
  const field_values = fc.oneof(fc.constantFrom(['x'], [{ name: 'TV' }]), anyJson, hostile)
  const pull_by_key = fc.constantFrom('name', 'service_id', '$x', '__proto__')
  const change = fc.record(
    { field_name, field_values, pull_by_key },
    { requiredKeys: ['field_name'] },
  )
  return fc.oneof(fc.array(change, { maxLength: 2 }), anyJson)
}

const paging = fc.record(
  {
    page: fc.oneof(fc.integer({ min: -1, max: 3 }), hostileText, anyJson),
    size: fc.oneof(fc.integer({ min: -1, max: 30 }), hostileText, anyJson),
    sort: fc.oneof(fc.constantFrom({ from: -1 }, { name: 1 }, { 'a.b': 1 }), hostile, anyJson),
    project: fc.oneof(
      fc.constantFrom({ name: 1, revision_info: 1 }, { from: 0 }, { _id: 0 }, { 'a.b': 1, a: 1 }),
      hostile,
      anyJson,
    ),
    states: fc.oneof(fc.constantFrom([0], [0, 1, 2], [2], [3]), anyJson),
  },
  { requiredKeys: [] },
)

export function fuzzRequest(known: Existing): fc.Arbitrary<FuzzRequest> {
  return fc.constantFrom(...CALLS).chain(({ definition, action }) => {
    const { name, store } = definition
    const names: Names = {
      id: oneOf(() => known.get(name)?.ids ?? [], 'f'.repeat(24)),
      key: oneOf<unknown>(() => known.get(name)?.keys ?? [], 'NONE'),
    }
    const wild = randomParameters(definition, action, names)
    const params = fc.oneof(wild, validParameters(definition, action, names))
    return fc.oneof({ arbitrary: sent(params), weight: 8 }, broken(wild)).map((request) => ({
      collection: name,
      store,
      action,
      ...request,
    }))
  })
}

function randomParameters(
  { name, actions }: CollectionDefinition,
  action: ActionName,
  names: Names,
): fc.Arbitrary<Fields> {
  const { query, update } = actions[action] ?? { query: {}, update: {} }
  const dotted = dottedParam(name, action, 'update', 'rates.CALL')
  const all: Params = dotted === null ? update : { ...update, 'rates.CALL': dotted }
  const parts = fc.tuple(randomFields(query, names), randomFields(all, names), options, paging)
  return parts.map(([asked, changed, more, page]): Fields => {
    const common = { query: asked, ...(more !== undefined && { options: more }) }
    return isRead(action) ? { ...common, ...page } : { ...common, update: changed }
  })
}

/** Parameters that address existing entities, mostly valid. */
function validParameters(
  { name, keyField, actions }: CollectionDefinition,
  action: ActionName,
  names: Names,
): fc.Arbitrary<Fields> {
  const { update, query: asked } = actions[action] ?? { update: {}, query: {} }
  const byKey = fc.tuple(names.key, day).map(([key, effective_date]): Fields => {
    return isRead(action) ? { [keyField]: key } : { [keyField]: key, effective_date }
  })
  const byId = names.id.map((_id): Fields => ({ _id }))
  const isKey = Object.hasOwn(asked, keyField)
  const query = isKey ? fc.oneof(byId, byKey) : byId
  const complete = fc.constant(null).map(() => ORDINARY[name]?.() ?? {})
  const kept = fc.subarray(Object.keys(ORDINARY[name]?.() ?? {}))
  const declared = Object.entries(update).map(([each, param]) => {
    return rightValueOf(param, names).map((value): Fields => ({ [each]: value }))
  })
  const one = declared.length === 0 ? fc.constant<Fields>({}) : fc.oneof(...declared)
  const parts = fc.tuple(query, complete, kept, fc.option(one), fc.option(day), fc.option(day))
  return parts.map(([target, whole, some, more, from, to]): Fields => {
    if (isRead(action)) return { query: target }
    const partly = Object.fromEntries(some.map((each) => [each, whole[each]]))
    const fields = { ...(action === 'create' ? whole : partly), ...more }
    const dates = { ...(from !== null && { from }), ...(to !== null && { to }) }
    return { ...(action !== 'create' && { query: target }), update: { ...fields, ...dates } }
  })
}

function isRead(action: ActionName): boolean {
  return action === 'get' || action === 'uniqueget'
}

type Sent = Pick<FuzzRequest, 'query' | 'init'>

function sent(params: fc.Arbitrary<Fields>): fc.Arbitrary<Sent> {
  const way = fc.constantFrom<Way>('form', 'json', 'multipart', 'query')
  return fc.tuple(params, way).map(([each, how]) => {
    const [query, init] = requestOf(each, how)
    // The server limits the length of an address.
    return query.length > 8000 ? { query: '', init: { method: 'POST' } } : { query, init }
  })
}

const TYPES = [
  'application/json',
  'application/x-www-form-urlencoded',
  'text/plain',
  'text/html',
  '',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/xml',
  'application/json; charset=utf-16',
  'image/png',
]

/** A body that does not match its content type. */
function broken(params: fc.Arbitrary<Fields>): fc.Arbitrary<Sent> {
  const bytes = fc.uint8Array({ maxLength: 40 }).map((array) => new Uint8Array(array))
  const text = fc.oneof(
    params.map((each) => JSON.stringify(each)),
    params.map((each) => JSON.stringify(each).slice(0, -3)),
    params.map((each) => JSON.stringify(JSON.stringify(each))),
    fc.constantFrom(
      'query[$where]=1',
      'query[__proto__][x]=1',
      'query[][][]=1',
      'query=%',
      'a&&==',
    ),
    fc.constantFrom(
      '--x\r\n',
      '--x--',
      '['.repeat(50_000),
      '{"query":'.repeat(20_000),
      '"',
      '\u0000',
      '{"query":{},"query":1}',
    ),
    hostileText,
  )
  return fc.tuple(fc.oneof(text, bytes), fc.constantFrom(...TYPES)).map(([body, type]) => ({
    query: '',
    init: { method: 'POST', body, headers: type === '' ? {} : { 'Content-Type': type } },
  }))
}
