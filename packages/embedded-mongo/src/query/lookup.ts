/** `$lookup`: documents of another collection with an equal field. */
import { MongoCommandError, notImplemented } from '../errors.ts'
import { type Doc, encode, isArray, setField, type Value } from '../values/document.ts'
import { keyText } from '../values/key-encoding.ts'
import { pathValues } from '../values/path.ts'
import { fieldPath } from './field-path.ts'
import type { Results } from './run-query.ts'

/** Reads another collection of the database. */
type Find = (from: string, pipeline: Value) => Results<Doc>

type Lookup = {
  readonly from: string
  readonly localPath: readonly string[]
  readonly foreignField: string
  readonly as: string
  readonly pipeline: readonly Value[]
}

/** Matched documents that are kept for further documents with the same value. */
const CACHED_DOCS_MAX = 10_000
/** Matched documents of one document, in bytes, as in MongoDB. */
const MATCHED_BYTES_MAX = 100 * 1024 * 1024

/** @throws CommandError for missing and unsupported operands */
export function compileLookup(operand: Doc, find: Find): (docs: Results<Doc>) => Results<Doc> {
  const lookup = parse(operand)
  // Reports errors of the inner pipeline before anything is read.
  find(lookup.from, [...lookup.pipeline])
  return (docs) => joined(docs, lookup, find)
}

function parse(operand: Doc): Lookup {
  const { from, localField, foreignField, as, pipeline = [], ...others } = operand
  const [other] = Object.keys(others)
  if (other !== undefined) throw notImplemented(`the $lookup option ${other}`)
  for (const [name, value] of Object.entries({ from, localField, foreignField, as })) {
    if (typeof value === 'string' && value !== '') continue
    throw new MongoCommandError('FailedToParse', `$lookup argument '${name}' must be a string`)
  }
  if (!isArray(pipeline)) {
    throw new MongoCommandError('TypeMismatch', "'pipeline' option must be specified as an array")
  }
  if ((as as string).includes('.')) throw notImplemented('a dotted name in $lookup.as')
  const localPath = fieldPath(localField as string)
  fieldPath(foreignField as string)
  return {
    from: from as string,
    localPath,
    foreignField: foreignField as string,
    as: as as string,
    pipeline,
  }
}

function* joined(docs: Results<Doc>, lookup: Lookup, find: Find): Results<Doc> {
  const cached = new Map<string, Doc[]>()
  let cachedDocs = 0
  for (const doc of docs) {
    if (doc === null) {
      yield null
      continue
    }
    const { values } = pathValues(doc, lookup.localPath)
    const key = keyText(values as Value[])
    let matched = cached.get(key)
    if (matched === undefined) {
      matched = yield* matchedBy(values as Value[], lookup, find)
      if (cachedDocs + matched.length > CACHED_DOCS_MAX || cached.size > CACHED_DOCS_MAX) {
        cached.clear()
        cachedDocs = 0
      }
      cached.set(key, matched)
      cachedDocs += matched.length
    }
    const result = { ...doc }
    setField(result, lookup.as, matched)
    yield result
  }
}

function* matchedBy(
  values: Value[],
  { from, foreignField, pipeline }: Lookup,
  find: Find,
): Generator<null, Doc[]> {
  const [only] = values
  const condition: Value = values.length === 1 ? { $eq: only } : { $in: values }
  const found: Doc[] = []
  let bytes = 0
  for (const doc of find(from, [{ $match: { [foreignField]: condition } }, ...pipeline])) {
    if (doc === null) {
      yield null
      continue
    }
    found.push(doc)
    bytes += encode(doc).length
    if (bytes > MATCHED_BYTES_MAX) {
      const message = `Total size of documents in ${from} matching $lookup is too large`
      throw new MongoCommandError('Location4568', message)
    }
  }
  return found
}
