/** `usedby`: the entities that refer to an entity of the catalogue. */
import { Type } from '@sinclair/typebox'
import type { CollectionReads } from '../../catalog/collections.ts'
import { choice, closed, integer, listOf, text } from '../../catalog/entities/json-schema.ts'
import { present } from '../../domain/assert.ts'
import type { Fields } from '../../domain/fields.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import { NOT_DELETED } from '../../entities/revisions.ts'
import { parameterError } from '../../requests/errors.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import { type ActionCall, action, type EntityAction } from './action.ts'
import { param } from './parameters.ts'

const USERS_MAX = 100

const HOLDERS = ['accounts', 'subscribers'] as const
const OFFERS = ['plans', 'services'] as const
const REFERRING = [...OFFERS, 'rates', 'discounts', 'charges', 'prepaidincludes'] as const
type Referring = (typeof REFERRING)[number] | (typeof HOLDERS)[number]

interface Use {
  readonly collection: Referring
  /** Dotted field whose value is the key, or, with `KEY`, that exists. */
  readonly field: string
}

const inEach = (collections: readonly Referring[], field: string): readonly Use[] =>
  collections.map((collection) => ({ collection, field }))

/** By collection of the entity that is referred to. */
const USES = {
  plans: inEach(['subscribers'], 'plan'),
  services: [
    ...inEach(['plans'], 'include.services'),
    ...inEach(['subscribers', 'accounts'], 'services.name'),
  ],
  rates: [...inEach(OFFERS, 'rates.KEY'), ...inEach(['plans'], 'disallowed_rates')],
  taxes: inEach(['rates', ...OFFERS], 'tax.custom_tax'),
  discounts: inEach(['discounts'], 'excludes'),
  charges: inEach(['charges'], 'excludes'),
  prepaidincludes: [
    ...inEach(['plans'], 'pp_threshold.KEY'),
    ...inEach(['plans'], 'notifications_threshold.KEY'),
  ],
} as const satisfies Record<string, readonly Use[]>

type Referred = keyof typeof USES
const COLLECTIONS = Object.keys(USES) as Referred[]

const USER = closed(
  'Entities of one collection that refer to it by one field, now or later.',
  {
    collection: choice([...REFERRING, ...HOLDERS], 'Their collection.'),
    field: text('The field that refers to it.'),
    keys: listOf(text('Key, name, `sid` or `aid`.'), `At most ${USERS_MAX}.`),
    count: integer(`Their number, at most ${USERS_MAX}.`),
    more: { type: 'boolean', description: 'Whether there are more.' },
  },
  [],
)

export const usedby = action({
  name: 'usedby',
  level: 'read',
  about: 'List the entities that refer to a plan, service, rate, tax or other price',
  entityActions: entityActionsOf,
  isReadByGet: true,
  parameters: Type.Object({
    collection: param.choice(COLLECTIONS, 'Collection of the entity.'),
    key: param.text('Its `key` or `name`; of a prepaid include its `external_id`.', {
      maxLength: 200,
    }),
  }),
  answer: { details: listOf(USER, 'Without collections in which nothing refers to it.') },
  example: {
    parameters: { collection: 'plans', key: 'GOLD' },
    answer: {
      details: [{ collection: 'subscribers', field: 'plan', keys: ['171'], count: 1, more: false }],
    },
  },
  async run({ collection, key }, call) {
    if (!/^[^$.\0]+$/.test(key)) throw parameterError('key', 'must be a key')
    const found = await Promise.all(USES[collection].map((use) => usersOf(use, key, call)))
    return { details: found.filter(({ count }) => count > 0) }
  },
})

/** The caller may read the collection, and those in which it is referred to. */
function entityActionsOf(raw: RawParameters): readonly EntityAction[] {
  const collection = String(raw.get('collection') ?? '')
  const uses: readonly Use[] = Object.hasOwn(USES, collection) ? USES[collection as Referred] : []
  const names = uses.length === 0 ? [] : [collection, ...uses.map((use) => use.collection)]
  return [...new Set(names)].map((name) => ({ collection: name, action: 'get' }))
}

async function usersOf({ collection, field }: Use, key: string, call: ActionCall) {
  const path = field.replace('KEY', key)
  const { store, fixed, keyField } = present(DEFINITIONS.get(collection), collection)
  const filter = {
    ...fixed,
    [path]: field.includes('KEY') ? { $exists: true } : key,
    to: { $gt: new Date(call.nowMs) },
    ...NOT_DELETED,
  }
  const documents = call.catalog.reads[store] as unknown as CollectionReads<Fields>
  const rows = await documents
    .aggregate<Fields>(
      [
        { $match: filter },
        { $group: { _id: `$${keyField}` } },
        { $sort: { _id: 1 } },
        { $limit: USERS_MAX + 1 },
      ],
      { signal: call.signal },
    )
    .toArray()
  const keys = rows.slice(0, USERS_MAX).map(({ _id }) => String(_id))
  return { collection, field: path, keys, count: keys.length, more: rows.length > USERS_MAX }
}
