import { ObjectId } from 'bson'
import { BSON_TYPE, int32At, valueEnd } from '../values/bson-bytes.ts'
import { isPlain, plainValueEnd } from '../values/plain-bson.ts'
import { FieldNames, isSameRaw, RawFields, type RawValue } from '../values/raw-fields.ts'

/** A value with the range of its name in the same bytes. */
export type RawElement = RawValue & { readonly nameAt: number; readonly nameEnd: number }

/** An update operation that replaces the document with a unique key, in its received bytes. */
export type RawReplacement = {
  /** Conditions of the filter that fields equal scalar values; the names are not checked. */
  readonly equalities: readonly RawElement[]
  /** A further condition: a top-level field, the only one in the set, is below a number. */
  readonly newer: { readonly field: FieldNames; readonly below: RawValue } | undefined
  readonly replacement: Buffer
  readonly upsert: boolean
}

const ID_NAME = Buffer.from('_id')
const ID_FIELD = new FieldNames(['_id'])
/** Position of the value of an `_id` in front. */
export const ID_AT = 4 + 1 + ID_NAME.length + 1
/** Types of values that a filter compares and a document may have as `_id`, without conversion. */
const SCALARS: ReadonlySet<number> = new Set([
  BSON_TYPE.double,
  BSON_TYPE.string,
  BSON_TYPE.objectId,
  BSON_TYPE.boolean,
  BSON_TYPE.date,
  BSON_TYPE.int32,
  BSON_TYPE.int64,
])
const NUMBERS: ReadonlySet<number> = new Set([BSON_TYPE.double, BSON_TYPE.int32, BSON_TYPE.int64])
const OPERATION_FIELDS = new FieldNames(['q', 'u', 'multi', 'upsert'])
const LESS_THAN = new FieldNames(['$lt'])
/** Names of operators, paths and array positions, which have a special meaning. */
const SPECIAL_NAME = /^\$|\.|^\d+$|^__proto__$|^$|[^ -~]/

/**
 * Whether an operation of an update command can be executed in its received bytes: it is a
 * `RawReplacement`, and the document is plain BSON.
 */
export function isRawReplacement(operation: Buffer): boolean {
  const parsed = parseRawReplacement(operation)
  return parsed !== undefined && isPlain(parsed.replacement)
}

/**
 * Reads an operation of an update command; the replacement is not checked. Returns undefined for
 * anything that needs the general update: other fields, conditions or types. The parts are cheap to
 * read again, and much memory if they are kept for all operations of a command.
 */
export function parseRawReplacement(operation: Buffer): RawReplacement | undefined {
  const parts: (RawElement | undefined)[] = [undefined, undefined, undefined, undefined]
  const elements = elementsOf(operation, 0, operation.length)
  if (!elements) return undefined
  for (const element of elements) {
    const slot = OPERATION_FIELDS.slotOf(operation, element.nameAt, element.nameEnd)
    if (slot < 0 || parts[slot]) return undefined
    parts[slot] = element
  }
  const [q, u, multi, upsert] = parts
  if (q?.type !== BSON_TYPE.object || u?.type !== BSON_TYPE.object) return undefined
  if (!isFlag(multi) || !isFlag(upsert) || isSet(multi)) return undefined
  const filter = parseFilter(q)
  const replacement = operation.subarray(u.start, u.end)
  if (!filter) return undefined
  const { equalities, newer } = filter
  return { equalities, newer, replacement, upsert: isSet(upsert) }
}

function isFlag(value: RawValue | undefined): boolean {
  return !value || (value.type === BSON_TYPE.boolean && value.bytes[value.start]! <= 1)
}

function isSet(flag: RawValue | undefined): boolean {
  return flag?.bytes[flag.start] === 1
}

type RawFilter = Pick<RawReplacement, 'equalities' | 'newer'>

function parseFilter({ bytes, start, end }: RawValue): RawFilter | undefined {
  const elements = elementsOf(bytes, start, end)
  if (!elements) return undefined
  const equalities: RawElement[] = []
  let newer: RawFilter['newer']
  for (const element of elements) {
    if (isScalar(element)) {
      if (plainValueEnd(bytes, element.type, element.start, end) < 0) return undefined
      equalities.push(element)
      continue
    }
    if (newer || element.type !== BSON_TYPE.object) return undefined
    const field = fieldNamed(element)
    const below = lessThanOperand(element)
    if (!field || !below) return undefined
    newer = { field, below }
  }
  return { equalities, newer }
}

/** The operations of a command usually name the same field: its last use is kept. */
let lastField = new FieldNames([])

/** The field of a condition, undefined for a name that is not that of a top-level field. */
function fieldNamed({ bytes, nameAt, nameEnd }: RawElement): FieldNames | undefined {
  if (lastField.slotOf(bytes, nameAt, nameEnd) >= 0) return lastField
  const name = bytes.toString('latin1', nameAt, nameEnd)
  if (SPECIAL_NAME.test(name)) return undefined
  lastField = new FieldNames([name])
  return lastField
}

/** The operand of `{ $lt: number }`. */
function lessThanOperand({ bytes, start, end }: RawValue): RawValue | undefined {
  const below = elementAt(bytes, start + 4, end - 1)
  if (!below || below.end !== end - 1 || !NUMBERS.has(below.type)) return undefined
  if (LESS_THAN.slotOf(bytes, below.nameAt, below.nameEnd) < 0) return undefined
  if (int32At(bytes, start) !== end - start || bytes[end - 1] !== 0) return undefined
  return plainValueEnd(bytes, below.type, below.start, end) < 0 ? undefined : below
}

/**
 * The fields of a document at one level; their values are not checked. Undefined if the document is
 * not valid at this level.
 */
function elementsOf(bytes: Buffer, start: number, limit: number): RawElement[] | undefined {
  if (limit - start < 5 || int32At(bytes, start) !== limit - start) return undefined
  const elements: RawElement[] = []
  let at = start + 4
  while (at < limit - 1) {
    const element = elementAt(bytes, at, limit - 1)
    if (!element) return undefined
    elements.push(element)
    at = element.end
  }
  return bytes[at] === 0 ? elements : undefined
}

function elementAt(bytes: Buffer, at: number, last: number): RawElement | undefined {
  const type = bytes[at]!
  const nameAt = at + 1
  let nameEnd = nameAt
  while (nameEnd < last && bytes[nameEnd] !== 0) nameEnd += 1
  const start = nameEnd + 1
  const end = start <= last ? valueEnd(bytes, type, start) : -1
  if (type === 0 || end < start || end > last) return undefined
  return { bytes, type, start, end, nameAt, nameEnd }
}

export function isScalar({ type }: RawValue): boolean {
  return SCALARS.has(type)
}

/** The `_id` with which a document begins, if it is a scalar that needs no further check. */
function firstId(doc: Buffer): RawValue | undefined {
  for (let i = 0; i <= ID_NAME.length; i++) if (doc[5 + i] !== (ID_NAME[i] ?? 0)) return undefined
  const id = { bytes: doc, type: doc[4]!, start: ID_AT, end: valueEnd(doc, doc[4]!, ID_AT) }
  return isScalar(id) ? id : undefined
}

/**
 * The plain document with this `_id` in front, or with a new one if it needs one. Undefined if the
 * document begins with another `_id`; one behind other fields is not seen.
 */
export function withIdInFront(doc: Buffer, id: RawValue | undefined): Buffer | undefined {
  const own = firstId(doc)
  if (own) return !id || isSameRaw(own, id) ? doc : undefined
  const { bytes, type, start, end } = id ?? newId()
  const docAt = ID_AT + end - start
  const out = Buffer.allocUnsafe(docAt + doc.length - 4)
  out.writeInt32LE(out.length, 0)
  out[4] = type
  out.set(ID_NAME, 5)
  out[ID_AT - 1] = 0
  bytes.copy(out, ID_AT, start, end)
  doc.copy(out, docAt, 4)
  return out
}

/**
 * A plain document with its `_id`, or a new one, in front. Undefined if its `_id` is not a scalar
 * and needs further checks.
 */
export function withOwnIdInFront(doc: Buffer): Buffer | undefined {
  if (firstId(doc)) return doc
  const id = new RawFields(ID_FIELD, doc).raw(0)
  if (!id) return withIdInFront(doc, undefined)
  if (!isScalar(id)) return undefined
  const start = id.start - (ID_AT - 4)
  const before = [doc.subarray(0, 4), doc.subarray(start, id.end), doc.subarray(4, start)]
  return Buffer.concat([...before, doc.subarray(id.end)])
}

function newId(): RawValue {
  const bytes = Buffer.from(new ObjectId().id)
  return { bytes, type: BSON_TYPE.objectId, start: 0, end: bytes.length }
}
