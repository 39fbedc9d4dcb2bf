/** `/admin/save`: a plan or a rate, by the actions of the entity API. */
import { Type } from '@sinclair/typebox'
import type { ActionName } from '../../../catalog/entities/api.ts'
import { type Fields, isObject } from '../../../domain/fields.ts'
import { ActionError, fieldRule, parameterError } from '../../../requests/errors.ts'
import { parseJson } from '../../../requests/json-text.ts'
import type { RawParameters } from '../../../requests/raw-parameters.ts'
import { type ActionCall, action, type EntityAction } from '../action.ts'
import { param } from '../parameters.ts'
import { callEntity, documentView, idTextOf, revisionById } from './entity-calls.ts'

const COLLECTIONS = ['rates', 'plans'] as const
const ACTIONS = {
  update: 'update',
  close_and_new: 'closeandnew',
  duplicate: 'create',
  new: 'create',
} as const satisfies Record<string, ActionName>
type SaveType = keyof typeof ACTIONS
const TYPES = Object.keys(ACTIONS) as SaveType[]
/** Fields of the stored revision that a copy does not get. */
const REVISION_FIELDS: readonly string[] = ['_id', 'from', 'to', 'creation_time', 'revision_info']

export const save = action({
  name: 'save',
  family: 'admin',
  level: 'write',
  about: 'Save a plan or a rate',
  entityActions: entityActionsOf,
  parameters: Type.Object({
    id: param.optional(param.json('Id of the revision; not for `new`.')),
    coll: param.choice(COLLECTIONS, 'Collection.'),
    type: param.choice(TYPES, 'What is done.'),
    data: param.optional(param.json('The fields.')),
    duplicate_rates: param.optional(param.flag('Not supported: prices of plans are in rates.')),
    batch_no: param.optional(param.text('Not used.')),
  }),
  answer: {},
  example: {
    parameters: {
      id: '65f000000000000000000001',
      coll: 'rates',
      type: 'update',
      data: { description: 'Local calls' },
    },
    answer: {},
  },
  async run({ id: value, coll, type, data: given, duplicate_rates: isWithRates }, call) {
    if (isWithRates === true) throw fieldRule('duplicate_rates', 'is not supported')
    const data = dataOf(given)
    if (type === 'new') {
      await callEntity(call, coll, 'create', { update: data })
      return {}
    }
    const id = idTextOf(value)
    if (id === null) throw parameterError('id', 'must be an id of 24 hexadecimal digits')
    const update = type === 'duplicate' ? await duplicateOf(call, coll, id, data) : data
    const target = type === 'duplicate' ? {} : { query: { _id: id } }
    await callEntity(call, coll, ACTIONS[type], { ...target, update })
    return {}
  },
})

function entityActionsOf(raw: RawParameters): readonly EntityAction[] {
  const collection = COLLECTIONS.find((name) => name === raw.get('coll'))
  const type = TYPES.find((name) => name === raw.get('type'))
  return collection === undefined || type === undefined
    ? []
    : [{ collection, action: ACTIONS[type] }]
}

function dataOf(value: unknown): Fields {
  const data = typeof value === 'string' && value !== '' ? parseJson(value, 'data') : value
  const isEmpty = data === undefined || data === '' || Object.keys(Object(data)).length === 0
  if (isEmpty) throw new ActionError('Data is empty !!!', { path: 'data', code: 'missing' })
  if (!isObject(data)) throw parameterError('data', 'should be of type Object')
  return data
}

/** The stored revision with the given fields in place of its own; valid as `data` says. */
async function duplicateOf(
  call: ActionCall,
  coll: (typeof COLLECTIONS)[number],
  id: string,
  data: Fields,
): Promise<Fields> {
  const original = await revisionById(call, coll, id)
  if (original === null)
    throw new ActionError(`${coll}: there is no revision with _id ${id}`, { path: 'id' })
  const view = Object.entries(documentView(original, call))
  const kept = view.filter(([name]) => !REVISION_FIELDS.includes(name))
  const { _id, ...changed } = data
  return { ...Object.fromEntries(kept), ...changed }
}
