import { MongoCommandError, notImplemented } from '../errors.ts'
import { compileFilter } from '../query/matcher.ts'
import type { Collection, Index, IndexSpec } from '../store/catalog.ts'
import { equalValues, typeName } from '../values/compare.ts'
import { type Doc, isArray, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { arrayIndex } from '../values/path.ts'
import type { Command, Commands } from './command.ts'
import { wholeBatch } from './read.ts'

const OPTIONS = ['key', 'name', 'unique', 'sparse', 'partialFilterExpression', 'v', 'background']
const OPTIONS_UNSUPPORTED = [
  'expireAfterSeconds',
  'collation',
  'hidden',
  'weights',
  'default_language',
  'language_override',
  'textIndexVersion',
  '2dsphereIndexVersion',
  'bits',
  'min',
  'max',
  'wildcardProjection',
  'storageEngine',
  'prepareUnique',
]
/**
 * Operators allowed in the filter of a partial index, as in MongoDB; `compileFilter` evaluates
 * them.
 */
const PARTIAL_OPERATORS = ['$eq', '$exists', '$gt', '$gte', '$lt', '$lte', '$type', '$and', '$in']

const createIndexes: Command = ({ write, schema }, args) => {
  args.allow(['indexes'], ['commitQuorum'])
  const ns = args.namespace()
  const specs = args.docs('indexes').map(({ doc }) => parseSpec(doc))
  if (specs.length === 0) {
    throw new MongoCommandError('BadValue', 'Must specify at least one index to create')
  }
  return write(() => {
    const createdCollectionAutomatically = schema.catalog.find(ns) === undefined
    const before = schema.catalog.findOrCreate(ns).indexes.length
    for (const spec of specs) {
      if (!exists(schema.catalog.findOrCreate(ns), spec)) schema.createIndex(ns, spec)
    }
    const after = schema.catalog.findOrCreate(ns).indexes.length
    return {
      numIndexesBefore: before,
      numIndexesAfter: after,
      createdCollectionAutomatically,
      ...(after === before ? { note: 'all indexes already exist' } : {}),
    }
  })
}

function parseSpec(doc: Doc): IndexSpec {
  for (const option of Object.keys(doc)) {
    if (OPTIONS.includes(option)) continue
    if (option === 'expireAfterSeconds') throw notImplemented('a TTL index (expireAfterSeconds)')
    if (OPTIONS_UNSUPPORTED.includes(option)) throw notImplemented(`the index option ${option}`)
    throw new MongoCommandError(
      'InvalidIndexSpecificationOption',
      `The field '${option}' is not valid for an index specification.`,
    )
  }
  const { key, name, partialFilterExpression: partial } = doc
  if (!isDoc(key) || Object.keys(key).length === 0) {
    throw new MongoCommandError('CannotCreateIndex', 'Index keys cannot be empty.')
  }
  if (typeof name !== 'string' || name === '') {
    throw new MongoCommandError('CannotCreateIndex', 'index names cannot be empty')
  }
  checkKey(key)
  if (isIdKey(key)) checkIdSpec(doc, key['_id'])
  const isPartial = partial !== undefined
  if (isPartial && !isDoc(partial)) {
    throw new MongoCommandError(
      'TypeMismatch',
      "The field 'partialFilterExpression' must be an object",
    )
  }
  if (isPartial) checkPartial(partial)
  const unique = flagOf('unique', doc['unique'])
  const sparse = flagOf('sparse', doc['sparse'])
  if (sparse && isPartial) {
    throw new MongoCommandError(
      'CannotCreateIndex',
      'cannot mix "partialFilterExpression" and "sparse" options',
    )
  }
  return { key, name, unique, sparse, partial }
}

const PLUGINS = ['text', 'hashed', '2d', '2dsphere', 'geoHaystack']

function checkKey(key: Doc): void {
  for (const path of Object.keys(key)) {
    checkDirection(path, key[path])
    if (path.includes('$**')) throw notImplemented('a wildcard index')
    const parts = path.split('.')
    if (parts.some((part) => part === '' || part.startsWith('$'))) {
      throw new MongoCommandError(
        'CannotCreateIndex',
        `'${path}' cannot be a field of an index key`,
      )
    }
    if (parts.some((part) => arrayIndex(part) !== undefined)) {
      throw notImplemented(`an index on a position of an array ('${path}')`)
    }
  }
}

/** The sign of any number defines the direction. */
function checkDirection(path: string, direction: Value): void {
  if (typeof direction === 'string' && PLUGINS.includes(direction)) {
    throw notImplemented(`an index of type ${direction}`)
  }
  if (isNumeric(direction) && Math.abs(toNumber(direction)) > 0) return
  const what = isNumeric(direction) ? toNumber(direction) : typeName(direction)
  throw new MongoCommandError(
    'CannotCreateIndex',
    `Values in the index key pattern must be numbers other than 0, '${path}' is ${what}`,
  )
}

/** The index of `_id` always exists: it may be requested, but not with other options. */
function checkIdSpec(doc: Doc, direction: Value): void {
  if (isNumeric(direction) && toNumber(direction) !== 1) {
    throw new MongoCommandError('BadValue', "The field 'key' for an _id index must be {_id: 1}")
  }
  const other = Object.keys(doc).find((option) => !['key', 'name', 'v'].includes(option))
  if (other === undefined) return
  throw new MongoCommandError(
    'InvalidIndexSpecificationOption',
    `The field '${other}' is not valid for an _id index specification.`,
  )
}

function checkPartial(partial: Doc): void {
  compileFilter(partial)
  const operators = JSON.stringify(partial).match(/(?<=")\$\w+(?=":)/g) ?? []
  const unknown = operators.find((operator) => !PARTIAL_OPERATORS.includes(operator))
  if (!unknown) return
  throw new MongoCommandError(
    'CannotCreateIndex',
    `unsupported expression in partial index: ${unknown}`,
  )
}

function flagOf(option: string, value: Value): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  if (isNumeric(value)) return toNumber(value) !== 0
  throw new MongoCommandError('TypeMismatch', `The field '${option}' has value of wrong type`)
}

/**
 * Whether the index exists.
 * @throws CommandError if a similar index with other options exists
 */
function exists({ indexes }: Collection, spec: IndexSpec): boolean {
  if (isIdKey(spec.key)) return true
  const sameName = indexes.find(({ name }) => name === spec.name)
  if (sameName) {
    if (isSame(sameName, spec)) return true
    throw new MongoCommandError(
      'IndexKeySpecsConflict',
      `An existing index has the same name as the requested index: '${spec.name}'`,
    )
  }
  const sameKey = indexes.find((index) => isSameKey(index, spec))
  if (!sameKey) return false
  throw new MongoCommandError(
    'IndexOptionsConflict',
    `Index already exists with a different name: ${sameKey.name}`,
  )
}

function isIdKey(key: Doc): boolean {
  const [only, ...others] = Object.keys(key)
  return only === '_id' && others.length === 0
}

function isSame(index: Index, spec: IndexSpec): boolean {
  const isSameKind = index.unique === spec.unique && index.sparse === spec.sparse
  return isSameKind && isSameKey(index, spec)
}

/** Indexes with the same key but different filters may coexist. */
function isSameKey(index: Index, spec: IndexSpec): boolean {
  return equalValues(index.key, spec.key) && equalValues(index.partial, spec.partial)
}

export function describeIndex({ key, name, unique, sparse, partial }: Index): Doc {
  return {
    v: 2,
    key,
    name,
    ...(unique && name !== '_id_' ? { unique } : {}),
    ...(sparse ? { sparse } : {}),
    ...(partial ? { partialFilterExpression: partial } : {}),
  } as unknown as Doc
}

const listIndexes: Command = ({ schema }, args) => {
  args.allow(['cursor'])
  const ns = args.namespace()
  const collection = schema.catalog.find(ns)
  if (!collection) throw new MongoCommandError('NamespaceNotFound', `ns does not exist: ${ns}`)
  return wholeBatch(ns, collection.indexes.map(describeIndex))
}

const dropIndexes: Command = ({ write, schema }, args) => {
  args.allow(['index'])
  const ns = args.namespace()
  return write(() => {
    const collection = schema.catalog.find(ns)
    if (!collection) throw new MongoCommandError('NamespaceNotFound', `ns not found ${ns}`)
    const selector = args.value('index')
    const found = isArray(selector)
      ? selector.flatMap((each) => selectIndexes(collection, each))
      : selectIndexes(collection, selector)
    for (const index of found) schema.dropIndex(ns, index)
    return { nIndexesWas: collection.indexes.length }
  })
}

function selectIndexes({ indexes }: Collection, selector: Value): Index[] {
  if (selector === '*') return indexes.filter(({ name }) => name !== '_id_')
  const found = indexes.find(({ name, key }) => {
    return isDoc(selector) ? equalValues(key, selector) : name === selector
  })
  if (!found) {
    const what = isDoc(selector) ? 'that key' : `name [${String(selector)}]`
    throw new MongoCommandError('IndexNotFound', `index not found with ${what}`)
  }
  if (found.name === '_id_') throw new MongoCommandError('InvalidOptions', 'cannot drop _id index')
  return [found]
}

export const indexCommands: Commands = {
  createIndexes,
  listIndexes,
  dropIndexes,
  deleteIndexes: dropIndexes,
}
