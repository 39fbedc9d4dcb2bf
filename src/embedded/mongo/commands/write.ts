import { MongoCommandError, notImplemented, type OperationRefusal } from '../errors.ts'
import { runQuery } from '../query/run-query.ts'
import { type Records, Row } from '../store/records.ts'
import { applyUpdate, materializeRows } from '../update/apply-update.ts'
import { isRawReplacement, parseRawReplacement, withOwnIdInFront } from '../update/raw-operation.ts'
import { applyRawReplacement, type RawReplaceResult } from '../update/raw-replacement.ts'
import { compileUpdate } from '../update/update.ts'
import { typeName } from '../values/compare.ts'
import { DOCUMENT_BYTES_MAX, type Doc, isDoc, type Value } from '../values/document.ts'
import { isNumeric, toNumber } from '../values/numeric.ts'
import { isPlain } from '../values/plain-bson.ts'
import { type Args, type DocArgument, missingField } from './args.ts'
import type { Command, Commands } from './command.ts'
import { WRITE_BATCH_MAX } from './handshake.ts'

type WriteError = { readonly index: number; readonly code: number; readonly errmsg: string }

/**
 * Runs the operations of a bulk in order; `work` returns or throws the refusal of one. Each is
 * checked before it changes anything, so a failing operation leaves no changes; with `ordered` it
 * also ends the bulk.
 */
function runEach<T>(
  operations: readonly T[],
  ordered: boolean,
  work: (op: T, index: number) => OperationRefusal | undefined,
): { writeErrors?: WriteError[] } {
  const writeErrors: WriteError[] = []
  for (let index = 0; index < operations.length; index++) {
    const refusal = refusalOf(() => work(operations[index]!, index))
    if (!refusal) continue
    const { code, message, details } = refusal
    writeErrors.push({ index, code, errmsg: message, ...details })
    if (ordered) break
  }
  return writeErrors.length > 0 ? { writeErrors } : {}
}

function refusalOf(work: () => OperationRefusal | undefined): OperationRefusal | undefined {
  try {
    return work()
  } catch (error) {
    // An error with labels ends the whole transaction.
    if (error instanceof MongoCommandError && !error.details['errorLabels']) return error
    throw error
  }
}

const insert: Command = ({ write, records }, args) => {
  args.allow(['documents', 'ordered', 'bypassDocumentValidation'])
  const ns = args.namespace()
  const documents = operationsOf(args, 'documents')
  const docs = decodeUnless(isRawInsert, documents)
  return write(() => {
    let n = 0
    const errors = runEach(documents, args.boolean('ordered', true), (document, index) => {
      const { bytes } = document
      const doc = docs[index]
      const inserted = doc
        ? records.insert(ns, doc, bytes)
        : records.insertBytes(ns, withOwnIdInFront(bytes!)!)
      if (!(inserted instanceof Row)) return inserted
      n += 1
      return undefined
    })
    return { n, ...errors }
  })
}

/** Whether a document is inserted without decoding it, as its `_id` needs no check. */
function isRawInsert(bytes: Buffer): boolean {
  const isUsual = bytes.length <= DOCUMENT_BYTES_MAX && isPlain(bytes)
  return isUsual && withOwnIdInFront(bytes) !== undefined
}

/**
 * The decoded operations, undefined for those that are executed in their received bytes. Invalid
 * BSON refuses the command before any operation is executed.
 */
function decodeUnless(
  isRaw: (bytes: Buffer) => boolean,
  operations: readonly DocArgument[],
): (Doc | undefined)[] {
  return operations.map((operation) => {
    const { bytes } = operation
    return bytes && isRaw(bytes) ? undefined : operation.doc
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

const update: Command = ({ write, records, clock }, args) => {
  args.allow(['updates', 'ordered', 'bypassDocumentValidation'], ['let'])
  const ns = args.namespace()
  const operations = operationsOf(args, 'updates')
  const docs = decodeUnless(isRawReplacement, operations)
  for (const doc of docs) if (doc) checkUpdate(doc)
  const nowMs = clock.nowMs()
  return write(() => {
    let n = 0
    let nModified = 0
    const upserted: { index: number; _id: Value }[] = []
    const errors = runEach(operations, args.boolean('ordered', true), (operation, index) => {
      const raw = docs[index] ? undefined : parseRawReplacement(operation.bytes!)
      const result =
        (raw && applyRawReplacement(records, ns, raw)) ??
        updateGenerally(records, ns, operation.doc, nowMs)
      n += result.matched
      nModified += result.modified
      if (result.upsertedId !== undefined) {
        n += 1
        upserted.push({ index, _id: result.upsertedId })
      }
      return result.duplicate
    })
    return { n, nModified, ...(upserted.length > 0 ? { upserted } : {}), ...errors }
  })
}

function updateGenerally(records: Records, ns: string, doc: Doc, nowMs: number): RawReplaceResult {
  const { matched, modified, upserted, duplicate } = applyUpdate(records, ns, {
    filter: filterOf('update.updates', doc),
    update: compileUpdate(doc['u']),
    multi: flagOf(doc['multi']),
    upsert: flagOf(doc['upsert']),
    nowMs,
  })
  return { matched, modified, upsertedId: upserted?.doc['_id'], duplicate }
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

const remove: Command = ({ write, records, catalog }, args) => {
  args.allow(['deletes', 'ordered'], ['let'])
  const ns = args.namespace()
  const operations = operationsOf(args, 'deletes')
  for (const { doc } of operations) checkDelete(doc)
  return write(() => {
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
      return undefined
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
