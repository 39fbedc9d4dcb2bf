import { MongoCommandError } from '../errors.ts'
import { compileProjection } from '../query/projection.ts'
import { collectAll, runQuery } from '../query/run-query.ts'
import { parseSort } from '../query/sort.ts'
import type { Row } from '../store/records.ts'
import { applyUpdate } from '../update/apply-update.ts'
import { compileUpdate } from '../update/update.ts'
import type { Doc } from '../values/document.ts'
import type { Args } from './args.ts'
import type { Command, CommandReply, Commands, Context } from './command.ts'

const findAndModify: Command = ({ write, records, catalog, clock }, args) => {
  args.allow(
    ['query', 'sort', 'remove', 'update', 'new', 'fields', 'upsert', 'bypassDocumentValidation'],
    ['arrayFilters', 'collation', 'hint', 'let'],
  )
  const isRemove = args.boolean('remove')
  if (isRemove === (args.value('update') !== undefined)) {
    throw new MongoCommandError(
      'FailedToParse',
      "Either an update or 'remove'=true must be specified",
    )
  }
  if (isRemove && (args.boolean('new') || args.boolean('upsert'))) {
    throw new MongoCommandError(
      'FailedToParse',
      'Cannot specify both new or upsert and remove=true',
    )
  }
  const context = { records, catalog, nowMs: clock.nowMs() }
  return write(() => (isRemove ? removeOne(context, args) : updateOne(context, args)))
}

type WriteContext = Pick<Context, 'records' | 'catalog'> & { readonly nowMs: number }

function removeOne({ records, catalog }: WriteContext, args: Args): CommandReply {
  const collection = catalog.find(args.namespace())
  const query = { filter: args.doc('query'), sort: parseSort(args.value('sort')), limit: 1 }
  const [row] = collectAll(runQuery(records, collection, query))
  const value = projectRow(row, args)
  if (row && collection) records.remove(collection, row)
  return { lastErrorObject: { n: row ? 1 : 0 }, value }
}

function updateOne({ records, nowMs }: WriteContext, args: Args): CommandReply {
  const { matched, upserted, duplicate, before, after } = applyUpdate(records, args.namespace(), {
    filter: args.doc('query'),
    sort: parseSort(args.value('sort')),
    update: compileUpdate(args.value('update')),
    multi: false,
    upsert: args.boolean('upsert'),
    nowMs,
  })
  if (duplicate) throw MongoCommandError.of(duplicate)
  return {
    lastErrorObject: {
      n: matched + (upserted ? 1 : 0),
      updatedExisting: matched > 0,
      ...(upserted ? { upserted: upserted.doc['_id'] } : {}),
    },
    value: projectRow(args.boolean('new') ? after : before, args),
  }
}

function projectRow(row: Row | undefined, args: Args): Doc | null {
  if (!row) return null
  const fields = args.doc('fields')
  return Object.keys(fields).length > 0 ? compileProjection(fields)(row.doc) : row.doc
}

export const findAndModifyCommands: Commands = { findAndModify, findandmodify: findAndModify }
