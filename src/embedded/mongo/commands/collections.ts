import { MongoCommandError, notImplemented } from '../errors.ts'
import { compileFilter } from '../query/matcher.ts'
import type { Collection } from '../store/catalog.ts'
import type { Doc } from '../values/document.ts'
import type { Command, Commands } from './command.ts'
import { describeIndex } from './indexes.ts'
import { wholeBatch } from './read.ts'

function nameOf({ ns }: Collection): string {
  return ns.slice(ns.indexOf('.') + 1)
}

function databaseOf({ ns }: Collection): string {
  return ns.slice(0, ns.indexOf('.'))
}

const create: Command = ({ write, schema }, args) => {
  args.allow(
    [],
    [
      'capped',
      'size',
      'max',
      'validator',
      'validationLevel',
      'validationAction',
      'timeseries',
      'expireAfterSeconds',
      'clusteredIndex',
      'viewOn',
      'pipeline',
      'collation',
      'storageEngine',
      'indexOptionDefaults',
      'changeStreamPreAndPostImages',
      'encryptedFields',
    ],
  )
  const ns = args.namespace()
  return write(() => {
    if (schema.catalog.find(ns)) {
      throw new MongoCommandError('NamespaceExists', `Collection ${ns} already exists.`)
    }
    schema.catalog.findOrCreate(ns)
    return {}
  })
}

const drop: Command = ({ write, schema }, args) => {
  args.allow([])
  const ns = args.namespace()
  return write(() => {
    const collection = schema.catalog.find(ns)
    if (!collection) return { ns }
    schema.drop(collection)
    return { nIndexesWas: collection.indexes.length, ns }
  })
}

const dropDatabase: Command = ({ write, schema }, args) => {
  args.allow([])
  return write(() => {
    for (const collection of schema.catalog.list(args.database)) schema.drop(collection)
    return { dropped: args.database }
  })
}

const listCollections: Command = ({ schema }, args) => {
  args.allow(['filter', 'nameOnly', 'cursor', 'authorizedCollections'])
  const matches = compileFilter(args.doc('filter'))
  const isNameOnly = args.boolean('nameOnly')
  const docs = schema.catalog.list(args.database).map((collection): Doc => {
    const name = { name: nameOf(collection), type: 'collection' }
    if (isNameOnly) return name
    const [idIndex] = collection.indexes
    const info = { readOnly: false }
    return { ...name, options: {}, info, ...(idIndex ? { idIndex: describeIndex(idIndex) } : {}) }
  })
  return wholeBatch(`${args.database}.$cmd.listCollections`, docs.filter(matches))
}

const listDatabases: Command = ({ schema }, args) => {
  args.allow(['filter', 'nameOnly', 'authorizedDatabases'])
  if (args.database !== 'admin') {
    throw new MongoCommandError(
      'Unauthorized',
      'listDatabases may only be run against the admin database.',
    )
  }
  const filter = args.doc('filter')
  if (Object.keys(filter).some((field) => field !== 'name')) {
    throw notImplemented('listDatabases with a filter on anything but the name')
  }
  const names = new Set(schema.catalog.list().map(databaseOf))
  const found = [...names].map((name): Doc => ({ name })).filter(compileFilter(filter))
  // Sizes are not known per database: all share one folder.
  return { databases: found, totalSize: 0, totalSizeMb: 0 }
}

export const collectionCommands: Commands = {
  create,
  drop,
  dropDatabase,
  listCollections,
  listDatabases,
}
