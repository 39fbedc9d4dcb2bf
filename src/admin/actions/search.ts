/** `search`: customers by a number, a name or an e-mail address. */
import { Type } from '@sinclair/typebox'
import {
  choice,
  closed,
  flag,
  integer,
  listOf,
  text,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import type { Fields } from '../../domain/fields.ts'
import { DEFINITIONS } from '../../entities/definitions/collections.ts'
import { recordRead } from '../../entities/read-records.ts'
import { NOT_DELETED } from '../../entities/revisions.ts'
import { normalizeNumber } from '../../rating/identify.ts'
import { parameterError } from '../../requests/errors.ts'
import { type ActionCall, action } from './action.ts'
import { param } from './parameters.ts'

/** Letters whose case is varied: 2^4 ranges of the index; the others are compared afterwards. */
const LETTERS_MAX = 4

/** The spellings of the begin of a text, each of which begins a range of the index. */
function caseVariants(text: string): readonly string[] {
  let variants = ['']
  for (const letter of [...text].slice(0, LETTERS_MAX)) {
    const cases = [...new Set([letter, letter.toLowerCase(), letter.toUpperCase()])]
    variants = variants.flatMap((begin) => cases.map((each) => begin + each))
  }
  return variants
}

const HITS_MAX = 20
const QUERY_LENGTH_MAX = 100
/** Shorter texts begin too many names. */
const PREFIX_LENGTH_MIN = 2
const COLLECTIONS = ['subscribers', 'accounts'] as const
type Collection = (typeof COLLECTIONS)[number]
const NUMBERS = ['sid', 'aid', 'msisdn', 'imsi'] as const
const NAMES = ['firstname', 'lastname', 'email'] as const
type SearchField = (typeof NUMBERS)[number] | (typeof NAMES)[number]

const HIT = closed(
  'A subscriber or an account, as it is now.',
  {
    collection: choice(COLLECTIONS, 'What was found.'),
    field: choice([...NUMBERS, ...NAMES], 'The field that matches.'),
    match: choice(['exact', 'prefix'], 'Whether the whole value matches, or its begin.'),
    aid: integer('Number of the account.'),
    sid: integer('Number of the subscriber.'),
    firstname: text('First name.'),
    lastname: text('Last name.'),
    email: text('E-mail address.'),
    msisdn: text('Phone number.'),
    plan: text('Plan.'),
  },
  ['sid', 'firstname', 'lastname', 'email', 'msisdn', 'plan'],
)

export const search = action({
  name: 'search',
  level: 'read',
  about: 'Find customers by a number, a name or an e-mail address',
  entityActions: () => COLLECTIONS.map((collection) => ({ collection, action: 'get' }) as const),
  isReadByGet: true,
  parameters: Type.Object({
    q: param.text(
      'A whole `sid`, `aid`, `msisdn` or `imsi`, or the begin of a name or an e-mail address.',
      { maxLength: QUERY_LENGTH_MAX },
    ),
  }),
  answer: {
    details: listOf(HIT, `At most ${HITS_MAX}, exact ones first.`),
    searched: listOf(choice([...NUMBERS, ...NAMES], 'A field.'), 'The fields that were searched.'),
    more: flag('Whether there are more hits.'),
  },
  example: {
    parameters: { q: '+44 7700 900-123' },
    answer: {
      details: [
        {
          collection: 'subscribers',
          field: 'msisdn',
          match: 'exact',
          aid: 17,
          sid: 171,
          firstname: 'Ada',
          lastname: 'Byron',
          msisdn: '447700900123',
          plan: 'GOLD',
        },
      ],
      searched: ['msisdn', 'imsi'],
      more: false,
    },
  },
  async run({ q }, call) {
    const conditions = conditionsOf(q, call.config.rating.countryPrefix)
    const searched = [...new Set(conditions.map(({ field }) => field))]
    const customers = await customersOf(call)
    const found = new Map<string, Found>()
    for (const condition of conditions) {
      for (const each of await customers(condition)) {
        const key = `${each.row['type']}.${each.row['sid'] ?? each.row['aid']}`
        if (!found.has(key)) found.set(key, each)
      }
      if (found.size > HITS_MAX) break
    }
    const hits = [...found.values()].slice(0, HITS_MAX)
    await recordHits(call, conditions, hits)
    return { details: hits.map(hitOf), searched, more: found.size > HITS_MAX }
  },
})

interface Condition {
  readonly collection: Collection
  readonly field: SearchField
  readonly match: 'exact' | 'prefix'
  readonly filter: Fields
  /** For exact numbers: the number. */
  readonly number?: number
}

interface Found extends Condition {
  readonly row: Fields
}

/** Exact numbers first. Throws `ActionError` for a text that cannot be searched. */
function conditionsOf(sent: string, countryPrefix: string): readonly Condition[] {
  const q = sent.trim().normalize('NFC')
  if (q === '') throw parameterError('q', 'must not be empty')
  if (/^\(?\+?[\d\s./()-]+$/.test(q)) {
    const conditions = numberConditions(q, countryPrefix)
    if (conditions.length > 0) return conditions
  }
  if ([...q].length < PREFIX_LENGTH_MIN) {
    throw parameterError('q', `must have at least ${PREFIX_LENGTH_MIN} characters, or a number`)
  }
  return NAMES.flatMap((field) => COLLECTIONS.map((each) => prefixCondition(each, field, q)))
}

function numberConditions(q: string, countryPrefix: string): readonly Condition[] {
  const isInternational = /^\(?(?:\+|00)/.test(q)
  // `(0)` in an international number stands for its spelling in the own country.
  const digits = (isInternational ? q.replace(/\(0\)/, '') : q).replace(/\D/g, '')
  if (digits === '') return []
  const number = /^\d{1,15}$/.test(q) ? Number(q) : 0
  const owners: readonly Condition[] =
    number === 0
      ? []
      : [
          { ...exact('subscribers', 'sid', number), number },
          { ...exact('accounts', 'aid', number), number },
        ]
  // Stored with or without the plus sign; a national number with its country, whose digits may
  // also be those of an area.
  const national = /^0(?!0)/.test(digits) ? [countryPrefix + digits.slice(1)] : []
  const full = normalizeNumber(isInternational ? `+${digits}` : digits, countryPrefix)
  const bare = [digits, full, ...national]
  const phones = { $in: [...new Set([q, ...bare, ...bare.map((each) => `+${each}`)])] }
  return [...owners, exact('subscribers', 'msisdn', phones), exact('subscribers', 'imsi', digits)]
}

function exact(collection: Collection, field: SearchField, value: unknown): Condition {
  return { collection, field, match: 'exact', filter: { [field]: value } }
}

/** By ranges of the index, one for each spelling of the first letters in upper and lower case. */
function prefixCondition(collection: Collection, field: SearchField, q: string): Condition {
  const pattern = q.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&')
  const ranges = caseVariants(q).map((begin) => ({
    [field]: { $gte: begin, $lt: `${begin}\u{10ffff}` },
  }))
  const matches = { [field]: { $regex: `^${pattern}`, $options: 'i' } }
  return { collection, field, match: 'prefix', filter: { $or: ranges, $and: [matches] } }
}

type FindCustomers = (condition: Condition) => Promise<readonly Found[]>

/** Customers are read from MongoDB, or from the customer system, which is asked by number only. */
async function customersOf(call: ActionCall): Promise<FindCustomers> {
  const { lookup, nowMs } = call
  const outside = {
    accounts: (await lookup.accounts([], nowMs)) !== null,
    subscribers: (await lookup.subscribers([], nowMs)) !== null,
  }
  return async (condition) => {
    const { collection, number } = condition
    if (!outside[collection]) return storedCustomers(condition, call)
    if (number === undefined) return []
    const found = await lookup[collection]([number], nowMs)
    const row = found?.get(number)
    return row === undefined ? [] : [{ ...condition, row: { ...row, type: typeOf(collection) } }]
  }
}

const typeOf = (collection: Collection) => collection.slice(0, -1)

async function storedCustomers(condition: Condition, call: ActionCall): Promise<readonly Found[]> {
  const { collection, filter, field } = condition
  const { catalog, nowMs, signal } = call
  const at = new Date(nowMs)
  const current = { type: typeOf(collection), from: { $lte: at }, to: { $gt: at } }
  const rows = await catalog.reads.subscribers
    .find({ ...current, ...filter, ...NOT_DELETED } as object, { signal })
    .limit(HITS_MAX + 1)
    .toArray()
  const found = (rows as unknown as Fields[]).map((row) => ({ ...condition, row }))
  return found.sort((a, b) => compareTexts(String(a.row[field]), String(b.row[field])))
}

function compareTexts(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0)
}

async function recordHits(
  { entityApi, actor }: ActionCall,
  conditions: readonly Condition[],
  hits: readonly Found[],
): Promise<void> {
  for (const collection of COLLECTIONS) {
    const definition = DEFINITIONS.get(collection)
    const own = conditions.filter((each) => each.collection === collection)
    if (definition === undefined || own.length === 0) continue
    const filter = Object.fromEntries(own.map(({ field }) => [field, 1]))
    const rows = hits.filter((each) => each.collection === collection).map(({ row }) => row)
    await recordRead(entityApi.stores, actor, { definition, action: 'get', filter, rows })
  }
}

const SHOWN = ['firstname', 'lastname', 'email', 'msisdn', 'plan'] as const

function hitOf({ collection, field, match, row }: Found): ValueOf<typeof HIT> {
  const details = SHOWN.flatMap((name) => {
    const value = row[name]
    return typeof value === 'string' && value !== '' ? [[name, value] as const] : []
  })
  const { aid, sid } = row as Fields & { readonly aid: number }
  const numbers = typeof sid === 'number' ? { aid, sid } : { aid }
  return { collection, field, match, ...numbers, ...Object.fromEntries(details) }
}
