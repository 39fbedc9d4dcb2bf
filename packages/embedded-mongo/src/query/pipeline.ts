import { MongoCommandError } from '../errors.ts'
import type { Catalog, Collection } from '../store/catalog.ts'
import type { Records } from '../store/records.ts'
import { type Doc, encode, isArray, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { FieldNames } from '../values/raw-fields.ts'
import { compileGroup, countValue, Groups } from './accumulator.ts'
import { fieldsRead, type StageSpec } from './fields-read.ts'
import { compileLookup } from './lookup.ts'
import { compileFilter } from './matcher.ts'
import { compileAddFields, compileProjection } from './projection.ts'
import { type Query, type Results, runQuery, skipAndLimit } from './run-query.ts'
import { parseSort, Sorter, sortKey } from './sort.ts'
import { compileUnwind } from './unwind.ts'

type Stage = {
  run(docs: Results<Doc>): Results<Doc>
  /** Whether the stage only needs the number of documents, not their fields. */
  readonly countsOnly?: boolean
}

/** Collections of one database, as a command sees them. */
export type PipelineSource = {
  readonly records: Records
  readonly catalog: Pick<Catalog, 'find'>
  readonly database: string
}

/**
 * Runs an aggregation pipeline on a collection.
 * @throws CommandError immediately, for unknown stages and invalid operands
 */
export function runPipeline(
  source: PipelineSource,
  collection: Collection | undefined,
  pipeline: Value,
): Results<Uint8Array> {
  const { query, stages } = compilePipeline(source, pipeline)
  if (stages.length === 0) return rowBytes(source.records, collection, query)
  return encoded(runStages(source, collection, query, stages))
}

/** As `runPipeline`, decoded. */
function documentsOf(
  source: PipelineSource,
  collection: Collection | undefined,
  pipeline: Value,
): Results<Doc> {
  const { query, stages } = compilePipeline(source, pipeline)
  return runStages(source, collection, query, stages)
}

/** The leading stages that can use indexes as a query, and the others. */
function compilePipeline(source: PipelineSource, pipeline: Value) {
  const specs = parseStages(pipeline)
  // Compiled first, so that an error in a later stage is found before anything is read.
  const compiled = specs.map((spec) => compileStage(spec, source))
  const { query, used } = leadingQuery(specs)
  const fields = fieldsRead(specs)
  const needed = fields && new FieldNames(fields)
  return { query: { ...query, fields: needed }, stages: compiled.slice(used) }
}

function runStages(
  { records }: PipelineSource,
  collection: Collection | undefined,
  query: Query,
  stages: readonly Stage[],
): Results<Doc> {
  const isCount = stages[0]?.countsOnly === true && Object.keys(query.filter).length === 0
  let docs: Results<Doc>
  if (isCount && collection && !query.limit) docs = blanks(records.count(collection))
  else docs = rowDocs(records, collection, query)
  for (const stage of stages) docs = stage.run(docs)
  return docs
}

function parseStages(pipeline: Value): StageSpec[] {
  if (!isArray(pipeline)) {
    throw new MongoCommandError('TypeMismatch', "'pipeline' option must be specified as an array")
  }
  return pipeline.map((spec) => {
    if (!isDoc(spec)) {
      throw new MongoCommandError('TypeMismatch', 'Each element of the pipeline must be an object')
    }
    const names = Object.keys(spec)
    const [name] = names
    if (name === undefined || names.length > 1) {
      throw new MongoCommandError(
        'Location40323',
        'A pipeline stage specification object must contain exactly one field.',
      )
    }
    return { name, operand: spec[name] }
  })
}

/** The leading stages that can use indexes, as one query. */
function leadingQuery(specs: readonly StageSpec[]): { query: Query; used: number } {
  let used = 0
  const matches: Doc[] = []
  while (specs[used]?.name === '$match') matches.push(documentOf(specs[used++]!))
  const [only] = matches
  const filter = matches.length < 2 ? (only ?? {}) : { $and: matches }
  const sort = specs[used]?.name === '$sort' ? parseSort(specs[used++]!.operand) : []
  const limit = specs[used]?.name === '$limit' ? integerOf(specs[used++]!, 1) : undefined
  return { query: { filter, sort, limit }, used }
}

function* rowDocs(
  records: Records,
  collection: Collection | undefined,
  query: Query,
): Results<Doc> {
  for (const row of runQuery(records, collection, query)) yield row === null ? null : row.doc
}

function* rowBytes(
  records: Records,
  collection: Collection | undefined,
  query: Query,
): Results<Uint8Array> {
  for (const row of runQuery(records, collection, query)) yield row === null ? null : row.bytes
}

function* blanks(count: number): Results<Doc> {
  const blank: Doc = {}
  for (let i = 0; i < count; i++) yield blank
}

function* encoded(docs: Results<Doc>): Results<Uint8Array> {
  for (const doc of docs) yield doc && encode(doc)
}

function compileStage(spec: StageSpec, source: PipelineSource): Stage {
  switch (spec.name) {
    case '$match': {
      const matches = compileFilter(documentOf(spec))
      return mapping((doc) => (matches(doc) ? doc : undefined))
    }
    case '$project':
      return mapping(compileProjection(fieldsOf(spec)))
    case '$addFields':
    case '$set':
      return mapping(compileAddFields(documentOf(spec)))
    case '$unset':
      return mapping(compileProjection(unsetFields(spec)))
    case '$unwind':
      return unwinding(compileUnwind(spec.operand))
    case '$sort':
      return sorting(spec)
    case '$limit': {
      const limit = integerOf(spec, 1)
      return { run: (docs) => skipAndLimit(docs, 0, limit) }
    }
    case '$skip': {
      const skip = integerOf(spec, 0)
      return { run: (docs) => skipAndLimit(docs, skip, Number.POSITIVE_INFINITY) }
    }
    case '$count':
      return counting(spec)
    case '$group':
      return grouping(documentOf(spec))
    case '$lookup': {
      const { catalog, database } = source
      const find = (from: string, pipeline: Value) =>
        documentsOf(source, catalog.find(`${database}.${from}`), pipeline)
      return { run: compileLookup(documentOf(spec), find) }
    }
    case '$changeStream':
      throw new MongoCommandError(
        'Location40573',
        'The $changeStream stage is only supported on replica sets',
      )
    default:
      throw new MongoCommandError(
        'Location40324',
        `Unrecognized pipeline stage name: '${spec.name}'`,
      )
  }
}

function documentOf({ name, operand }: StageSpec): Doc {
  if (isDoc(operand)) return operand
  const code = name === '$match' ? 'Location15959' : 'Location15947'
  throw new MongoCommandError(code, `the ${name} stage must be an object`)
}

function fieldsOf(spec: StageSpec): Doc {
  const fields = documentOf(spec)
  if (Object.keys(fields).length > 0) return fields
  throw new MongoCommandError('Location51272', 'Invalid $project: specification must have fields')
}

function unsetFields({ operand }: StageSpec): Doc {
  const names = isArray(operand) ? operand : [operand]
  const fields: Doc = {}
  for (const name of names) {
    if (typeof name !== 'string' || name === '') {
      throw new MongoCommandError('Location31002', '$unset must be a string or an array of strings')
    }
    fields[name] = false
  }
  return fields
}

function integerOf({ name, operand }: StageSpec, min: number): number {
  const value = isNumeric(operand) ? toNumber(operand) : Number.NaN
  if (Number.isSafeInteger(value) && value >= min) return value
  if (name === '$limit' && value === 0) {
    throw new MongoCommandError('Location15958', 'the limit must be positive')
  }
  const code = name === '$limit' ? 'Location5107201' : 'Location5107200'
  throw new MongoCommandError(code, `invalid argument to ${name} stage: an integer is needed`)
}

function mapping(map: (doc: Doc) => Doc | undefined): Stage {
  return {
    *run(docs) {
      for (const doc of docs) {
        const mapped = doc && map(doc)
        if (mapped !== undefined) yield mapped
      }
    },
  }
}

function unwinding(unwind: (doc: Doc) => Doc[]): Stage {
  return {
    *run(docs) {
      for (const doc of docs) {
        if (doc === null) yield null
        else yield* unwind(doc)
      }
    },
  }
}

function sorting({ operand }: StageSpec): Stage {
  const sort = parseSort(operand)
  if (sort.length === 0) {
    throw new MongoCommandError('Location15976', '$sort stage must have at least one sort key')
  }
  return {
    *run(docs) {
      const sorter = new Sorter<Doc>()
      for (const doc of docs) {
        if (doc === null) yield null
        else sorter.add(sortKey(doc, sort), doc, encode(doc).length)
      }
      yield* sorter.take()
    },
  }
}

function counting({ operand: name }: StageSpec): Stage {
  if (typeof name !== 'string' || name === '' || /^\$|[.\0]/.test(name)) {
    throw new MongoCommandError(
      'Location40156',
      'the count field must be a plain, non-empty string',
    )
  }
  return {
    countsOnly: true,
    *run(docs) {
      let count = 0
      for (const doc of docs) {
        if (doc === null) yield null
        else count += 1
      }
      if (count > 0) yield { [name]: countValue(count) }
    },
  }
}

function grouping(spec: Doc): Stage {
  const group = compileGroup(spec)
  return {
    countsOnly: !mentionsField(spec),
    *run(docs) {
      const groups = new Groups(group)
      for (const doc of docs) {
        if (doc === null) yield null
        else groups.add(doc)
      }
      yield* groups.docs()
    },
  }
}

/** Whether an expression reads fields of documents: literals and operators on literals do not. */
function mentionsField(expression: Value): boolean {
  if (typeof expression === 'string') return expression.startsWith('$')
  if (isArray(expression)) return expression.some(mentionsField)
  return isDoc(expression) && Object.values(expression).some(mentionsField)
}
