/** The methods of `POST /api/cards` on prepaid cards. Secrets are in no answer. */
import { Type } from '@sinclair/typebox'
import type { WithId } from '../../catalog/collections.ts'
import { closed, integer, ref, text, type ValueOf } from '../../catalog/entities/json-schema.ts'
import type { CardDocument, CardStatus } from '../../catalog/records/card.ts'
import { cardSecretsOf } from '../../catalog/sealing/card-secrets.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { readView } from '../../entities/views.ts'
import { NoCardError } from '../../prepaid/cards/guesses.ts'
import { displayStatus, STATUS_NAMES, statusOf } from '../../prepaid/cards/states.ts'
import {
  type CardChange,
  type CardQuery,
  createCards,
  deleteCards,
  findCards,
  NONE,
  type NumberCondition,
  updateCards,
} from '../../prepaid/cards/store.ts'
import { asActionError, EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { parseJson } from '../../requests/json-text.ts'
import { type ActionCall, castOptions } from './action.ts'
import { dateAt, memberAt, positiveIntegerOf, refuseOthers } from './members.ts'
import { param } from './parameters.ts'

export const METHODS = ['create', 'update', 'query', 'delete'] as const

export type CardMethod = (typeof METHODS)[number]

const CARDS_MAX = 10_000
const PAGE_SIZE = 10_000
const PAGE_SIZE_MAX = 100_000
const PAGE_MAX = 1_000_000
const TEXT_LENGTH_MAX = 1_000
/** Enough for the most cards with all their fields, as JSON texts. */
export const CARDS_BODY = {
  bytesMax: 16 * 1024 * 1024,
  json: { keysMax: CARDS_MAX * 10 },
} as const

export const CARD_PARAMETERS = {
  cards: param.optional(
    param.json(`create: up to ${CARDS_MAX} cards: a list of objects, each possibly as JSON text.`),
  ),
  query: param.optional(
    param.object(
      'update, query, delete: `batch_number`, `serial_number` (numbers, or ranges as ' +
        '`{"$gte": 1, "$lte": 9}`), `status`, `secret`.',
    ),
  ),
  update: param.optional(
    param.object(
      'update: `status`, `batch_number`, `serial_number`, `charging_plan_name`, ' +
        '`service_provider`, `to`.',
    ),
  ),
  size: param.optional(
    param.integer(`query: cards per page; ${PAGE_SIZE} by default.`, {
      minimum: 1,
      maximum: PAGE_SIZE_MAX,
    }),
  ),
  page: param.optional(param.integer('query: from 0.', { minimum: 0, maximum: PAGE_MAX })),
}

export const CARD = closed(
  'A card, without its secret.',
  {
    _id: ref('id'),
    batch_number: integer('Number of the batch.'),
    serial_number: integer('Number in the batch.'),
    charging_plan_name: text('Name of the charging plan.'),
    service_provider: text('Service provider.'),
    to: text('End of validity.'),
    status: text('State.'),
    creation_time: text('When it was created.'),
    additional_information: text('Further information.'),
    sid: integer('The subscriber that has redeemed it.'),
    activation_datetime: text('When it was redeemed.'),
    expired_on: text('When it expired.'),
  },
  ['sid', 'activation_datetime', 'expired_on'],
)

export const CARD_DETAILS = [
  ref<readonly ValueOf<typeof CARD>[]>('cards.list', 'create, query: cards.'),
  integer('update, delete: number of cards.'),
] as const

interface CardAnswer {
  readonly desc: string
  readonly details: ValueOf<(typeof CARD_DETAILS)[number]>
}

/** Parameters with secrets. */
export const CARD_SECRETS = ['cards', 'query'] as const

const DECLARED = Type.Object(CARD_PARAMETERS)

export type CardParameters = (typeof DECLARED)['static']

/** Codes of the errors of each method, in `display.code`. */
const CODES = { create: 1101, delete: 1111, query: 1121, update: 1131 } as const

/** Rejects with `ActionError`, or with errors of the stores. */
export async function runCardMethod(
  method: CardMethod,
  parameters: CardParameters,
  call: ActionCall,
): Promise<CardAnswer> {
  const { cardGuesses, actor } = call
  const run = () => RUN[method](parameters, call)
  const isGuess = method !== 'create' && parameters.query?.['secret'] !== undefined
  const guess = { actor, subject: `caller ${actor.by} ${actor.id}` }
  try {
    return await (isGuess ? (cardGuesses?.attempt(guess, run) ?? run()) : run())
  } catch (error) {
    if (!(error instanceof EntityRuleError)) throw error
    throw asActionError(error, CODES[method])
  }
}

type RunMethod = (parameters: CardParameters, call: ActionCall) => Promise<CardAnswer>

const RUN: Readonly<Record<CardMethod, RunMethod>> = {
  async create({ cards }, call) {
    const entries = entriesOf(cards, call)
    const digests = await digestsOf(
      entries.map((entry, index) => secretAt(entry, `cards.${index}.secret`)),
      call,
    )
    const documents = entries.map((entry, index): CardDocument => {
      return { secret_hmac: String(digests[index]), ...cardAt(entry, `cards.${index}`, call) }
    })
    const created = await createCards(call, documents)
    return { desc: 'Success creating cards', details: created.map((card) => viewOf(card, call)) }
  },

  async update({ query, update }, call) {
    const filter = await queryOf(query, ['batch_number', 'serial_number'], call)
    const change = changeOf(update, call)
    return { desc: 'Success updating cards', details: await updateCards(call, filter, change) }
  },

  async query({ query, size = PAGE_SIZE, page = 0 }, call) {
    const filter = await queryOf(query, ['batch_number', 'serial_number'], call)
    const found = await findCards(call, filter, { page, size })
    const isWrong = page === 0 || filter.digest !== undefined
    if (found.length === 0 && isWrong) throw new NoCardError(NONE)
    return { desc: 'Success querying cards', details: found.map((card) => viewOf(card, call)) }
  },

  async delete({ query }, call) {
    const filter = await queryOf(query, ['batch_number'], call)
    return { desc: 'Success deleting cards', details: await deleteCards(call, filter) }
  },
}

function entriesOf(cards: unknown, call: ActionCall): Fields[] {
  const list = isObject(cards) ? [cards] : cards
  if (!Array.isArray(list) || list.length === 0) {
    throw fieldRule('cards', 'must be a list of cards')
  }
  if (list.length > CARDS_MAX) {
    throw fieldRule('cards', `has ${list.length} entries: at most ${CARDS_MAX} are possible`)
  }
  const { limits } = castOptions({ body: CARDS_BODY }, call)
  return list.map((entry: unknown, index) => {
    const path = `cards.${index}`
    const card = typeof entry === 'string' ? parseJson(entry, path, limits) : entry
    if (!isObject(card)) throw fieldRule(path, 'must be an object')
    refuseOthers(card, CARD_FIELDS, path)
    return card
  })
}

const CARD_FIELDS = [
  'secret',
  'batch_number',
  'serial_number',
  'charging_plan_name',
  'service_provider',
  'to',
  'status',
  'creation_time',
  'additional_information',
] as const

function cardAt(card: Fields, path: string, call: ActionCall): Omit<CardDocument, 'secret_hmac'> {
  const { status: named, creation_time: created } = card
  const status = named === undefined ? 'Idle' : statusAt(named, `${path}.status`)
  if (status !== 'Idle') throw fieldRule(`${path}.status`, 'must be Idle in a new card')
  return {
    batch_number: numberAt(card, 'batch_number', path),
    serial_number: numberAt(card, 'serial_number', path),
    charging_plan_name: textAt(card, 'charging_plan_name', path),
    service_provider: textAt(card, 'service_provider', path),
    to: dateAt(card, 'to', path, call),
    status,
    creation_time:
      created === undefined ? new Date(call.nowMs) : dateAt(card, 'creation_time', path, call),
    additional_information: textAt(card, 'additional_information', path, 0),
  }
}

const SECRET = /^\d{12}$/

/** The text of the error does not quote it. */
function secretAt(fields: Fields, path: string): string {
  const { secret } = fields
  if (secret === undefined || secret === null) throw fieldRule(path, 'is missing', 'missing')
  const text = typeof secret === 'number' ? String(secret) : secret
  if (typeof text === 'string' && SECRET.test(text)) return text
  throw fieldRule(path, 'must have 12 digits')
}

const NUMBER_FORM = 'a positive integer without leading zero'

function numberAt(fields: Fields, name: string, path: string): number {
  const number = positiveIntegerOf(memberAt(fields, name, path))
  if (number !== null) return number
  throw fieldRule(`${path}.${name}`, `must be ${NUMBER_FORM}`)
}

function textAt(fields: Fields, name: string, path: string, lengthMin = 1): string {
  const value = memberAt(fields, name, path)
  const isText = typeof value === 'string' && !value.includes('\0')
  if (isText && value.length >= lengthMin && value.length <= TEXT_LENGTH_MAX) return value
  const kind = `a text of ${lengthMin} to ${TEXT_LENGTH_MAX} characters`
  throw fieldRule(`${path}.${name}`, `must be ${kind}`)
}

function statusAt(value: unknown, path: string): CardStatus {
  const status = statusOf(value)
  if (status !== null) return status
  throw fieldRule(path, `must be one of ${STATUS_NAMES.join(', ')}`)
}

const QUERY_FIELDS = ['batch_number', 'serial_number', 'status', 'secret'] as const

async function queryOf(
  query: Fields | undefined,
  required: readonly string[],
  call: ActionCall,
): Promise<CardQuery> {
  if (query === undefined) throw fieldRule('query', 'is missing', 'missing')
  refuseOthers(query, QUERY_FIELDS, 'query')
  for (const name of required) memberAt(query, name, 'query')
  const { serial_number, status, secret } = query
  const [digest] =
    secret === undefined ? [] : await digestsOf([secretAt(query, 'query.secret')], call)
  return {
    batchNumber: conditionAt(query, 'batch_number'),
    serialNumber: serial_number === undefined ? undefined : conditionAt(query, 'serial_number'),
    status: status === undefined ? undefined : statusAt(status, 'query.status'),
    digest,
  }
}

function conditionAt(query: Fields, name: string): NumberCondition {
  const value = memberAt(query, name, 'query')
  if (!isObject(value)) return numberAt(query, name, 'query')
  const from = positiveIntegerOf(value['$gte'])
  const to = positiveIntegerOf(value['$lte'])
  if (from !== null && to !== null && Object.keys(value).length === 2) return { from, to }
  throw fieldRule(`query.${name}`, `must have both $gte and $lte, each ${NUMBER_FORM}`)
}

function changeOf(update: Fields | undefined, call: ActionCall): CardChange {
  if (update === undefined || Object.keys(update).length === 0) {
    throw fieldRule('update', 'has nothing to change')
  }
  refuseOthers(update, CHANGE_FIELDS, 'update')
  const read: Readonly<Record<(typeof CHANGE_FIELDS)[number], () => CardChange>> = {
    status: () => ({ status: statusAt(update['status'], 'update.status') }),
    batch_number: () => ({ batch_number: numberAt(update, 'batch_number', 'update') }),
    serial_number: () => ({ serial_number: numberAt(update, 'serial_number', 'update') }),
    charging_plan_name: () => ({
      charging_plan_name: textAt(update, 'charging_plan_name', 'update'),
    }),
    service_provider: () => ({ service_provider: textAt(update, 'service_provider', 'update') }),
    to: () => ({ to: dateAt(update, 'to', 'update', call) }),
  }
  const changes = CHANGE_FIELDS.filter((name) => update[name] !== undefined)
  return Object.assign({}, ...changes.map((name) => read[name]())) as CardChange
}

const CHANGE_FIELDS = [
  'status',
  'batch_number',
  'serial_number',
  'charging_plan_name',
  'service_provider',
  'to',
] as const

function digestsOf(secrets: readonly string[], { catalog, config }: ActionCall): Promise<string[]> {
  return cardSecretsOf(catalog, config).digests(secrets)
}

const DATES = ['activation_datetime', 'expired_on']

function viewOf(card: WithId<CardDocument>, { config }: ActionCall) {
  const { secret_hmac: _, status, used_by: __, ...view } = card
  const shape = { timeZone: config.rating.timeZone, dateFields: DATES }
  return readView({ ...view, status: displayStatus(status) }, shape) as ValueOf<typeof CARD>
}
