/** `find`: documents of a collection by any of their fields. */
import { Type } from '@sinclair/typebox'
import {
  customFields,
  either,
  emptyList,
  flag,
  mapOf,
} from '../../../catalog/entities/json-schema.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { get } from '../../../entities/actions/get.ts'
import { DEFINITIONS } from '../../../entities/definitions/collections.ts'
import type { CollectionDefinition } from '../../../entities/definitions/definition.ts'
import { recordRead } from '../../../entities/read-records.ts'
import type { ReadRequest } from '../../../entities/requests/entity-request.ts'
import { readOptions } from '../../../entities/requests/read-options.ts'
import { ActionError } from '../../../requests/errors.ts'
import type { RawParameters } from '../../../requests/raw-parameters.ts'
import { type ActionCall, action, type EntityAction } from '../action.ts'
import { openFilter, refuseHidden } from '../open-query.ts'
import { param } from '../parameters.ts'
import { documentView } from './entity-calls.ts'

/** Collections of the existing system; null for those of which this system stores nothing. */
const COLLECTIONS: Readonly<Record<string, string | null>> = {
  lines: 'lines',
  rates: 'rates',
  plans: 'plans',
  subscribers: 'subscribers',
  log: null,
  services: 'services',
  users: 'users',
  prepaidincludes: 'prepaidincludes',
  balances: 'balances',
  queue: null,
  archive: null,
}
const SHOWN_LENGTH = 200

export const find = action({
  name: 'find',
  level: 'read',
  about: 'Find documents of a collection by any of their fields',
  isReadByGet: true,
  entityActions: entityActionsOf,
  parameters: Type.Object({
    collection: param.optional(param.json('Name of the collection.')),
    query: param.optional(param.json('Conditions; all documents if it is not given.')),
    project: param.optional(param.json('Fields to show (1) or to leave out (0).')),
    sort: param.optional(param.json('Order by field: 1 ascending, -1 descending.')),
    page: param.optional(param.integer('Page, from 0.', { minimum: 0 })),
    size: param.optional(
      param.integer('Documents per page; `entities.pageSize` by default.', { minimum: 1 }),
    ),
  }),
  answer: {
    next_page: flag('Whether there are more documents.'),
    details: either(
      'The documents by their ids.',
      mapOf(customFields('A document, with its dates as texts.'), 'Documents.'),
      emptyList('None.'),
    ),
  },
  example: {
    parameters: { collection: 'plans', query: { name: 'GOLD' }, page: 0, size: 10 },
    answer: { next_page: false, details: [] },
  },
  async run({ collection, query, project, sort, page, size }, call) {
    const name = typeof collection === 'string' ? collection : ''
    if (!Object.hasOwn(COLLECTIONS, name)) {
      throw new ActionError(`Illegal collection name: ${shortText(collection)}`, {
        path: 'collection',
      })
    }
    const conditions = objectOf(query, 'query')
    const compound = {
      project: objectOf(project, 'project'),
      sort: objectOf(sort, 'sort'),
    }
    const definition = definitionOf(name, conditions)
    if (definition === null) return { next_page: false, details: [] }
    const limits = call.config.entities
    const given = new Map<string, unknown>(Object.entries({ page, size }))
    const options = readOptions(given, compound, limits)
    refuseHidden(Object.keys(options.sort ?? {}), definition, 'sort')
    const { rows, hasMore } = await readRows(call, {
      definition,
      filter: openFilter(conditions, definition, call),
      page: options.page,
      size: options.size,
      sort: options.sort ?? {},
      project: withId(options.projection),
      states: [],
    })
    const view = (row: Fields) => documentView(row, call, definition.hidden)
    const byId = rows.map((row) => [String(row['_id']), view(row)] as const)
    return { next_page: hasMore, details: byId.length === 0 ? [] : Object.fromEntries(byId) }
  },
})

function entityActionsOf(raw: RawParameters): readonly EntityAction[] {
  const collection = String(raw.get('collection'))
  const name = Object.hasOwn(COLLECTIONS, collection) ? COLLECTIONS[collection] : null
  if (name === null || name === undefined) return []
  const others = storedIn(name).map((definition) => definition.name)
  return [...new Set([name, ...others])].map((each) => ({ collection: each, action: 'get' }))
}

/** Accounts are documents of collection `subscribers` with another type. */
function storedIn(collection: string): readonly CollectionDefinition[] {
  return [...DEFINITIONS.values()].filter(({ store }) => store === collection)
}

function definitionOf(name: string, { type }: Fields): CollectionDefinition | null {
  const stored = COLLECTIONS[name]
  if (stored === null || stored === undefined) return null
  const found = storedIn(stored).find(({ fixed }) => fixed['type'] === type)
  return found ?? DEFINITIONS.get(stored) ?? null
}

async function readRows(call: ActionCall, request: ReadRequest) {
  const { entityApi, catalog, actor } = call
  const { definition, filter } = request
  const own = entityApi.recordActions[definition.name]?.read
  const found = own === undefined ? await get(catalog, request) : await own(request)
  const done = { definition, action: 'get', filter, rows: found.rows } as const
  await recordRead(entityApi.stores, actor, done)
  return found
}

/** The answer is keyed by id. */
function withId(projection: ReadRequest['project']): ReadRequest['project'] {
  if (projection === null) return null
  const { _id, ...others } = projection
  return others
}

function objectOf(value: unknown, name: string): Fields {
  if (value === undefined || value === '') return {}
  if (Array.isArray(value) && value.length === 0) return {}
  if (isObject(value)) return value
  throw new ActionError(`Illegal ${name}: ${shortText(value)}`, { path: name })
}

function shortText(value: unknown): string {
  const text = typeof value === 'string' ? value : (JSON.stringify(value) ?? '')
  return text.slice(0, SHOWN_LENGTH)
}
