/** The answers of `/api/settings`. */
import type { TSchema } from '@sinclair/typebox'
import {
  anyValue,
  choice,
  closed,
  date,
  either,
  flag,
  integer,
  listOf,
  orNull,
  type Schema,
  text,
  type ValueOf,
  type ValuesOf,
} from '../../catalog/entities/json-schema.ts'
import { PermissionsSchema } from '../../catalog/settings/access/permission-settings.ts'
import { SecuritySchema } from '../../catalog/settings/access/security-settings.ts'
import { BillsSchema } from '../../catalog/settings/money/bill-settings.ts'
import { BillrunSchema } from '../../catalog/settings/money/billrun-settings.ts'
import { InvoicesSchema } from '../../catalog/settings/money/invoice-settings.ts'
import { LinesSchema } from '../../catalog/settings/money/line-settings.ts'
import { PaymentsSchema } from '../../catalog/settings/money/payment-settings.ts'
import { component, DONE, named, SUCCESS, VALID } from '../http/answer-schema.ts'
import { PlaysSchema } from './categories.ts'

/** Categories whose values are described; the others are documents of their own. */
const DESCRIBED: Readonly<Record<string, TSchema>> = {
  bills: BillsSchema,
  billrun: BillrunSchema,
  invoices: InvoicesSchema,
  lines: LinesSchema,
  payments: PaymentsSchema,
  permissions: PermissionsSchema,
  plays: PlaysSchema,
  security: SecuritySchema,
}

type Described = Schema & {
  readonly properties?: Readonly<Record<string, Described>>
  readonly patternProperties?: Readonly<Record<string, Described>>
  readonly items?: Described
  readonly anyOf?: readonly Described[]
}

/**
 * The schema of a stored value by that of writes: every member may be absent, and limits of texts
 * and numbers are left to the writes.
 */
function storedSchema(schema: Described, path: string): Schema {
  const { type, const: constant, properties, patternProperties, items, anyOf } = schema
  const { description = `The setting \`${path}\`.` } = schema
  const constants = anyOf?.flatMap((each) => ('const' in each ? [each['const']] : [])) ?? []
  if (anyOf !== undefined) {
    const isChoice = constants.length === anyOf.length
    if (isChoice) return { type: 'string', enum: constants, description }
    return { description, anyOf: anyOf.map((each) => storedSchema(each, path)) }
  }
  if (constant !== undefined) return { type, const: constant, description }
  if (items !== undefined) return { type, description, items: storedSchema(items, path) }
  const [others] = Object.values(patternProperties ?? {})
  if (others !== undefined) {
    return { type, description, additionalProperties: storedSchema(others, path) }
  }
  if (properties !== undefined) {
    const members = Object.entries(properties).map(([name, member]): [string, Schema] => [
      name,
      storedSchema(member, `${path}.${name}`),
    ])
    return {
      type,
      description,
      properties: Object.fromEntries(members),
      additionalProperties: false,
    }
  }
  return type === undefined ? anyValue(String(description)) : { type, description }
}

function valueSchema(category: string, schema: TSchema): Schema {
  const stored = storedSchema(schema as Described, category)
  const description = `Value of the category \`${category}\`.`
  if (category !== 'billrun') return { ...stored, description }
  const day = integer('The charging day: `rating.cycleDay`.')
  const properties = { ...(stored['properties'] as object), charging_day: day }
  return { ...stored, properties, description }
}

/** By category: the schema of its value. */
export const VALUES = new Map(
  Object.entries(DESCRIBED).map(([category, schema]) => [
    category,
    named(`setting.${category}`, valueSchema(category, schema)),
  ]),
)

const answerTo = <const A extends string>(...actions: readonly A[]) => ({
  status: DONE,
  desc: SUCCESS,
  input: closed('What was asked for.', {
    action: choice(actions, 'The action.'),
    category: text('The category, also with a path.'),
    path: text('The path in it.'),
  }),
})

const LISTED = component(
  'settingsCategory',
  'A category of settings.',
  {
    category: text('Its name.'),
    about: text('Its content.'),
    settable: flag('Whether it can be changed while the node runs.'),
    instead: text('How to change it otherwise.'),
  },
  ['instead'],
)
export type ListedCategory = ValueOf<typeof LISTED>

const LIST = component('settingsList', 'The categories.', {
  ...answerTo('list'),
  details: listOf(LISTED, 'All categories.'),
})

const ACTOR = component('actor', 'The caller that has made a change.', {
  by: choice(
    ['session', 'token', 'signature', 'open', 'cli', 'node'],
    'How it was authenticated; `cli` and `node`: this machine.',
  ),
  id: text('Id of the user, or name of the client; may be empty.'),
  name: text('Name of the user or client.'),
  address: text('Its address; empty for this machine.'),
})

const VERSION = component('settingsVersion', 'A version of a category.', {
  rev: integer('Its number.'),
  changed: date('When it was stored.'),
  changed_by: text('Who has stored it: `cli`, or the name of a user.'),
  actor: orNull(ACTOR, 'The caller; null if only `changed_by` is known.'),
})

const HISTORY = component('settingsHistory', 'The versions of a category.', {
  ...answerTo('history'),
  details: listOf(VERSION, 'Newest first: the first one is in force.'),
})

const valueAt = (description: string) =>
  either(
    description,
    ...VALUES.values(),
    anyValue('A part of a category, or the value of another one.'),
  )

const SETTING = {
  details: valueAt('The stored value at the path.'),
  effective: valueAt('The effective value at the path, including defaults.'),
  rev: integer('Version of the category; 0 if nothing is stored.'),
  valid: VALID,
}
const OPTIONAL = ['effective', 'valid'] as const
/** Without secrets. */
export type ReadSetting = ValuesOf<typeof SETTING, (typeof OPTIONAL)[number]>

const VALUE = component(
  'settingsValue',
  'A setting, without secrets.',
  { ...answerTo('get', 'set', 'unset', 'restore'), ...SETTING },
  OPTIONAL,
)

export const SETTINGS_ANSWER = named(
  'settingsAnswer',
  either(
    'By the action: the categories, the versions of a category, or a setting.',
    LIST,
    HISTORY,
    VALUE,
  ),
)
export type SettingsAnswer = ValueOf<typeof SETTINGS_ANSWER>
