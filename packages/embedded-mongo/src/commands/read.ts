import { Long } from 'bson'
import { MongoCommandError } from '../errors.ts'
import { countValue } from '../query/accumulator.ts'
import { runPipeline } from '../query/pipeline.ts'
import { compileProjection } from '../query/projection.ts'
import { type Query, type Results, runQuery } from '../query/run-query.ts'
import { parseSort } from '../query/sort.ts'
import type { Row } from '../store/records.ts'
import { type Doc, encode, isArray, isDoc, type Value } from '../values/document.ts'
import { keyText } from '../values/key-encoding.ts'
import { visitPath } from '../values/path.ts'
import { type Args, missingField, parseCount } from './args.ts'
import type { Command, Commands, Context } from './command.ts'
import type { CommandReply } from './reply.ts'
import { type WorkLimit, workLimit } from './work-limit.ts'

const FIND_UNSUPPORTED = [
  'hint',
  'collation',
  'let',
  'min',
  'max',
  'returnKey',
  'showRecordId',
  'tailable',
  'awaitData',
]

/**
 * The query of a `find` command.
 * @throws CommandError
 */
export function findQuery(args: Args): Query {
  args.allow(
    [
      'filter',
      'sort',
      'projection',
      'skip',
      'limit',
      'batchSize',
      'singleBatch',
      'allowDiskUse',
      'noCursorTimeout',
      'allowPartialResults',
      'oplogReplay',
    ],
    FIND_UNSUPPORTED,
  )
  return {
    filter: args.doc('filter'),
    sort: parseSort(args.value('sort')),
    skip: args.count('skip') ?? 0,
    limit: args.count('limit') || Number.POSITIVE_INFINITY,
  }
}

const find: Command = async (context, args) => {
  const { catalog, records, cursors } = context
  const query = findQuery(args)
  const { limit = Number.POSITIVE_INFINITY } = query
  const ns = args.namespace()
  const collection = catalog.find(ns)
  const rows = runQuery(records, collection, query)
  const options = {
    ns,
    batchSize: args.count('batchSize'),
    limit,
    singleBatch: args.boolean('singleBatch'),
    noTimeout: args.boolean('noCursorTimeout'),
    isAlive: () => catalog.find(ns)?.id === collection?.id,
    work: workOf(context, args),
  }
  return { batch: await cursors.open(projected(rows, args.doc('projection')), options) }
}

/** A read ends when its time is over or its client disconnects. */
export function workOf({ clock, isAbandoned }: Context, args: Args): WorkLimit {
  return workLimit(clock, args.count('maxTimeMS'), isAbandoned)
}

function projected(rows: Results<Row>, projection: Doc): Results<Uint8Array> {
  if (Object.keys(projection).length === 0) return bytesOf(rows, undefined)
  return bytesOf(rows, compileProjection(projection))
}

function* bytesOf(
  rows: Results<Row>,
  project: ((doc: Doc) => Doc) | undefined,
): Results<Uint8Array> {
  for (const row of rows) yield row && (project ? encode(project(row.doc)) : row.bytes)
}

const getMore: Command = async ({ cursors, clock, isAbandoned }, args) => {
  args.allow(['collection', 'batchSize', 'term', 'lastKnownCommittedOpTime'])
  const id = args.cursorId(args.value('getMore'))
  // MongoDB treats a size of zero as missing, so a batch always makes progress.
  const batchSize = args.count('batchSize') || undefined
  const workFor = (leftMs: number | undefined) => workLimit(clock, leftMs, isAbandoned)
  return { batch: await cursors.more(id, args.namespace('collection'), batchSize, workFor) }
}

const killCursors: Command = ({ cursors }, args) => {
  args.allow(['cursors'])
  const killed: Long[] = []
  const notFound: Long[] = []
  for (const value of args.array('cursors')) {
    const id = args.cursorId(value)
    if (cursors.kill(id)) killed.push(id)
    else notFound.push(id)
  }
  return {
    cursorsKilled: killed,
    cursorsNotFound: notFound,
    cursorsAlive: [],
    cursorsUnknown: [],
  }
}

const aggregate: Command = async (context, args) => {
  const { catalog, records, cursors } = context
  args.allow(
    ['pipeline', 'cursor', 'allowDiskUse'],
    ['explain', 'collation', 'hint', 'let', 'bypassDocumentValidation'],
  )
  const ns = args.namespace()
  const cursor = args.value('cursor')
  if (!isDoc(cursor)) {
    throw new MongoCommandError('FailedToParse', "The 'cursor' option is required")
  }
  const collection = catalog.find(ns)
  const database = ns.slice(0, ns.indexOf('.'))
  const source = { records, catalog, database }
  const results = runPipeline(source, collection, args.value('pipeline'))
  return {
    batch: await cursors.open(results, {
      ns,
      batchSize: parseCount('cursor.batchSize', cursor['batchSize']),
      limit: Number.POSITIVE_INFINITY,
      singleBatch: false,
      givesWay: true,
      isAlive: () => catalog.find(ns)?.id === collection?.id,
      work: workOf(context, args),
    }),
  }
}

const count: Command = async (context, args) => {
  const { catalog, records } = context
  args.allow(['query', 'limit', 'skip', 'fields'], ['hint', 'collation'])
  const collection = catalog.find(args.namespace())
  const filter = args.doc('query')
  const skip = args.count('skip') ?? 0
  const limit = args.magnitude('limit') || Number.POSITIVE_INFINITY
  if (collection && Object.keys(filter).length === 0) {
    const all = records.count(collection)
    return { n: countValue(Math.min(Math.max(0, all - skip), limit)) }
  }
  let n = 0
  await drain(runQuery(records, collection, { filter, skip, limit }), workOf(context, args), () => {
    n += 1
  })
  return { n: countValue(n) }
}

const distinct: Command = async (context, args) => {
  const { catalog, records } = context
  args.allow(['key', 'query'], ['collation', 'hint'])
  const key = requiredString(args, 'key')
  const parts = key.split('.')
  const found = new Map<string, Value>()
  const add = (value: Value) => {
    if (value !== undefined) found.set(keyText(value), value)
  }
  const rows = runQuery(records, catalog.find(args.namespace()), { filter: args.doc('query') })
  await drain(rows, workOf(context, args), ({ doc }) => {
    visitPath(doc, parts, (value) => {
      if (isArray(value)) value.forEach(add)
      else add(value)
      return false
    })
  })
  return { values: [...found.values()] }
}

function requiredString(args: Args, field: string): string {
  const value = args.string(field)
  if (value !== undefined) return value
  throw missingField(`${args.name}.${field}`)
}

/** Consumes all results and yields to other clients from time to time. */
export async function drain<T>(
  results: Results<T>,
  work: WorkLimit,
  use: (result: T) => void,
): Promise<void> {
  for (const result of results) {
    if (result !== null) use(result)
    else {
      await new Promise(setImmediate)
      work.check()
    }
  }
}

/** A single batch with all results. */
export function wholeBatch(ns: string, docs: readonly Doc[]): CommandReply {
  const encoded = docs.map((doc) => encode(doc))
  return { batch: { field: 'firstBatch', docs: encoded, id: Long.ZERO, ns } }
}

export const readCommands: Commands = {
  find,
  getMore,
  killCursors,
  aggregate,
  count,
  distinct,
}
