import { MongoCommandError, notImplemented } from '../errors.ts'
import { runQuery } from '../query/run-query.ts'
import { applyUpdate, materializeRows } from '../update/apply-update.ts'
import { compileUpdate } from '../update/update.ts'
import { typeName } from '../values/compare.ts'
import { type Doc, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { type Args, type DocArgument, missingField } from './args.ts'
import type { Command, Commands } from './command.ts'
import { WRITE_BATCH_MAX } from './handshake.ts'

type WriteError = { readonly index: number; readonly code: number; readonly errmsg: string }

/**
 * Runs the operations of a bulk in order. Each is checked before it changes anything, so a failing
 * operation leaves no changes; with `ordered` it also ends the bulk.
 */
function runEach(
  operations: readonly DocArgument[],
  ordered: boolean,
  work: (op: DocArgument, index: number) => void,
): { writeErrors?: WriteError[] } {
  const writeErrors: WriteError[] = []
  for (let index = 0; index < operations.length; index++) {
    try {
      work(operations[index]!, index)
    } catch (error) {
      if (!(error instanceof MongoCommandError)) throw error
      const { code, message, details } = error
      writeErrors.push({ index, code, errmsg: message, ...details })
      if (ordered) break
    }
  }
  return writeErrors.length > 0 ? { writeErrors } : {}
}

const insert: Command = ({ storage, records }, args) => {
  args.allow(['documents', 'ordered', 'bypassDocumentValidation'])
  const ns = args.namespace()
  const docs = operationsOf(args, 'documents')
  return storage.write(() => {
    let n = 0
    const errors = runEach(docs, args.boolean('ordered', true), ({ doc, bytes }) => {
      records.insert(ns, doc, bytes)
      n += 1
    })
    return { n, ...errors }
  })
}

function operationsOf(args: Args, field: string): DocArgument[] {
  const docs = args.docs(field)
  if (docs.length > 0 && docs.length <= WRITE_BATCH_MAX) return docs
  throw new MongoCommandError(
    'InvalidLength',
    `Write batch sizes must be between 1 and ${WRITE_BATCH_MAX}. Got ${docs.length} operations.`,
  )
}

const update: Command = ({ storage, records, clock }, args) => {
  args.allow(['updates', 'ordered', 'bypassDocumentValidation'], ['let'])
  const ns = args.namespace()
  const operations = operationsOf(args, 'updates')
  for (const { doc } of operations) checkUpdate(doc)
  const nowMs = clock.nowMs()
  return storage.write(() => {
    let n = 0
    let nModified = 0
    const upserted: { index: number; _id: Value }[] = []
    const errors = runEach(operations, args.boolean('ordered', true), ({ doc }, index) => {
      const result = applyUpdate(records, ns, {
        filter: filterOf('update.updates', doc),
        update: compileUpdate(doc['u']),
        multi: flagOf(doc['multi']),
        upsert: flagOf(doc['upsert']),
        nowMs,
      })
      n += result.matched
      nModified += result.modified
      if (!result.upserted) return
      n += 1
      upserted.push({ index, _id: result.upserted.doc['_id'] })
    })
    return { n, nModified, ...(upserted.length > 0 ? { upserted } : {}), ...errors }
  })
}

const UPDATE_UNSUPPORTED = ['arrayFilters', 'collation', 'hint', 'c']

/** A malformed operation refuses the command before any operation is executed. */
function checkUpdate(doc: Doc): void {
  const where = 'update.updates'
  checkFields(where, doc, ['q', 'u', 'multi', 'upsert'], UPDATE_UNSUPPORTED)
  filterOf(where, doc)
  if (doc['u'] === undefined) throw missingField(`${where}.u`)
}

function checkDelete(doc: Doc): void {
  const where = 'delete.deletes'
  checkFields(where, doc, ['q', 'limit'], ['collation', 'hint'])
  filterOf(where, doc)
  const { limit } = doc
  if (limit === undefined) throw missingField(`${where}.limit`)
  if (isNumeric(limit) && [0, 1].includes(toNumber(limit))) return
  throw new MongoCommandError('FailedToParse', 'The limit field in delete objects must be 0 or 1.')
}

const remove: Command = ({ storage, records, catalog }, args) => {
  args.allow(['deletes', 'ordered'], ['let'])
  const ns = args.namespace()
  const operations = operationsOf(args, 'deletes')
  for (const { doc } of operations) checkDelete(doc)
  return storage.write(() => {
    let n = 0
    const errors = runEach(operations, args.boolean('ordered', true), ({ doc }) => {
      const collection = catalog.find(ns)
      const limit = isNumeric(doc['limit']) && toNumber(doc['limit']) === 1 ? 1 : undefined
      const found = runQuery(records, collection, {
        filter: filterOf('delete.deletes', doc),
        limit,
      })
      for (const row of materializeRows(records, collection, found, limit === undefined)) {
        if (collection) records.remove(collection, row)
        n += 1
      }
    })
    return { n, ...errors }
  })
}

function checkFields(
  where: string,
  doc: Doc,
  fields: readonly string[],
  unsupported: readonly string[],
): void {
  for (const field of Object.keys(doc)) {
    if (fields.includes(field)) continue
    if (unsupported.includes(field)) throw notImplemented(`${where} with ${field}`)
    throw new MongoCommandError(
      'Location40415',
      `BSON field '${where}.${field}' is an unknown field.`,
    )
  }
}

function filterOf(where: string, { q }: Doc): Doc {
  if (q === undefined) throw missingField(`${where}.q`)
  if (isDoc(q)) return q
  throw new MongoCommandError(
    'TypeMismatch',
    `BSON field '${where}.q' is the wrong type '${typeName(q)}', expected type 'object'`,
  )
}

function flagOf(value: Value): boolean {
  return value === true || (isNumeric(value) && toNumber(value) !== 0)
}

export const writeCommands: Commands = { insert, update, delete: remove }
