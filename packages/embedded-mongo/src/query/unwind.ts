import { Long } from 'bson'
import { MongoCommandError } from '../errors.ts'
import {
  asDoc,
  type Doc,
  fieldOf,
  isArray,
  isDoc,
  setField,
  type Value,
} from '../values/document.ts'

type Unwind = {
  readonly parts: readonly string[]
  readonly indexField: string | undefined
  readonly keepsEmpty: boolean
}

/**
 * Compiles `$unwind`: one document for each element of an array.
 * @throws CommandError for wrong operands
 */
export function compileUnwind(operand: Value): (doc: Doc) => Doc[] {
  const unwind = parse(operand)
  return (doc) => unwindDoc(doc, unwind)
}

function parse(operand: Value): Unwind {
  const spec: Doc = isDoc(operand) ? operand : { path: operand }
  for (const name of Object.keys(spec)) {
    if (!['path', 'includeArrayIndex', 'preserveNullAndEmptyArrays'].includes(name)) {
      throw new MongoCommandError('Location28811', `unrecognized option to $unwind stage: ${name}`)
    }
  }
  const { path, includeArrayIndex: indexField, preserveNullAndEmptyArrays: keeps } = spec
  if (typeof path !== 'string') {
    throw new MongoCommandError('Location28808', '$unwind: the path must be a string')
  }
  if (!path.startsWith('$') || path.startsWith('$$')) {
    throw new MongoCommandError(
      'Location28818',
      `path option to $unwind must begin with '$': ${path}`,
    )
  }
  if (indexField !== undefined && (typeof indexField !== 'string' || /^\$|\./.test(indexField))) {
    throw new MongoCommandError(
      'Location28822',
      '$unwind: includeArrayIndex must be a plain field name',
    )
  }
  return { parts: path.slice(1).split('.'), indexField, keepsEmpty: keeps === true }
}

function unwindDoc(doc: Doc, { parts, indexField, keepsEmpty }: Unwind): Doc[] {
  const value = valueAt(doc, parts)
  const withIndex = (result: Doc, index: Value) => {
    return indexField === undefined ? result : { ...result, [indexField]: index }
  }
  if (isArray(value) && value.length > 0) {
    return value.map((element, i) => withIndex(put(doc, parts, element), Long.fromNumber(i)))
  }
  const isNothing = value === undefined || value === null || isArray(value)
  if (isNothing && !keepsEmpty) return []
  // An empty array removes the field.
  return [withIndex(isArray(value) ? put(doc, parts, undefined) : doc, null)]
}

function valueAt(doc: Doc, parts: readonly string[]): Value {
  let value: Value = doc
  for (const part of parts) {
    const inner = asDoc(value)
    if (!inner) return undefined
    value = fieldOf(inner, part)
  }
  return value
}

/** Returns a copy with a new value at the path; undefined removes the field. */
function put(doc: Doc, [part, ...rest]: readonly string[], value: Value): Doc {
  const result: Doc = { ...doc }
  if (part === undefined) return result
  if (rest.length > 0) setField(result, part, put(asDoc(doc[part]) ?? {}, rest, value))
  else if (value === undefined) delete result[part]
  else setField(result, part, value)
  return result
}
