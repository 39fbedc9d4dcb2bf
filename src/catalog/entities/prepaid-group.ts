import { type Static, Type } from '@sinclair/typebox'
import { readAll, readEach } from '../../domain/field-errors.ts'
import {
  arrayAt,
  choiceAt,
  FieldError,
  type Fields,
  isEmpty,
  isUnset,
  objectAt,
  wholeAt,
} from '../../domain/fields.ts'
import { microsFrom } from '../../domain/money.ts'
import { field, LIFE_CYCLE, READS } from './api.ts'
import {
  defineEntity,
  nameField,
  REV_INDEX,
  revisionFields,
  type StoredFields,
  unchecked,
} from './entity.ts'
import { listOf, ref } from './json-schema.ts'

const OPERATIONS = ['inc', 'set', 'new'] as const

/** A group of buckets that are topped up together. */
export const PrepaidGroupSchema = Type.Object({
  name: nameField(),
  ...revisionFields,
  description: field(unchecked(), 'Description.', {
    type: 'string',
    mandatory: true,
    query: READS,
  }),
  /** Checked below, as the following ones. */
  include: field(
    Type.Unknown({ expected: 'a list of buckets' }),
    listOf(ref('bucketOfGroup'), 'The buckets with their amounts.'),
    { mandatory: true, query: READS },
  ),
  operation: field(unchecked(), 'Operation on existing buckets.', {
    type: 'string',
    mandatory: true,
    options: OPERATIONS,
  }),
  charging_value: field(unchecked(), 'Price.', { type: 'number' }),
})

export type PrepaidGroupDocument = Static<typeof PrepaidGroupSchema> & StoredFields

export const PrepaidGroupEntity = defineEntity({
  schema: PrepaidGroupSchema,
  indexes: [{ key: { name: 1, from: 1 } }, REV_INDEX],
  identity: ['name'],
  check: checkPrepaidGroup,
  api: {
    name: 'prepaidgroups',
    about: 'Top-ups of several buckets together',
    keyField: 'name',
    configuredFieldsPath: ['prepaidgroups', 'fields'],
    actions: LIFE_CYCLE,
  },
})

/** `default` is the operation of the group. */
const ENTRY_OPERATIONS = ['default', ...OPERATIONS] as const
const AMOUNTS = ['usagev', 'cost', 'total_cost', 'value'] as const
export const PERIOD_UNITS = ['days', 'day', 'weeks', 'week', 'months', 'month', 'years', 'year']

/** Throws `FieldError` with the path of the field. */
function checkPrepaidGroup(document: Fields): void {
  const { operation, charging_value: value, include } = document
  readAll({
    operation: () => choiceAt(operation, 'operation', OPERATIONS),
    value: () => isUnset(value) || checkAmount(value, 'charging_value'),
    include: () => checkEntries(arrayAt(include, 'include')),
  })
}

function checkEntries(entries: readonly unknown[]): void {
  if (entries.length === 0) throw new FieldError('include', 'must have at least one bucket')
  readEach(entries, (entry, index) => {
    const path = `include.${index}`
    checkEntry(objectAt(entry, path), path)
  })
}

function checkEntry(entry: Fields, path: string): void {
  const { operation, period } = entry
  readAll({
    operation: () => choiceAt(operation, `${path}.operation`, ENTRY_OPERATIONS),
    include: () => checkInclude(entry, path),
    amount: () => checkEntryAmount(entry, path),
    period: () => isEmpty(period) || checkPeriod(objectAt(period, `${path}.period`), path),
  })
}

function checkInclude(entry: Fields, path: string): void {
  const { pp_includes_external_id: id, pp_includes_name: name } = entry
  if (isUnset(id) && isUnset(name)) {
    throw new FieldError(`${path}.pp_includes_external_id`, 'is missing', 'missing')
  }
  if (!isUnset(id)) wholeAt(id, `${path}.pp_includes_external_id`, 1)
}

function checkEntryAmount(entry: Fields, path: string): void {
  const present = AMOUNTS.filter((amount) => !isUnset(entry[amount]))
  const [first, second] = present
  if (first === undefined) {
    throw new FieldError(path, `must have an amount: one of ${AMOUNTS.join(', ')}`)
  }
  if (second !== undefined) {
    throw new FieldError(`${path}.${second}`, `must not be combined with ${first}`)
  }
  checkAmount(entry[first], `${path}.${first}`)
}

function checkPeriod({ duration, unit }: Fields, path: string): void {
  readAll({
    duration: () => wholeAt(duration, `${path}.period.duration`, 1),
    unit: () => {
      if (typeof unit === 'string' && PERIOD_UNITS.includes(unit)) return
      throw new FieldError(`${path}.period.unit`, `must be one of ${PERIOD_UNITS.join(', ')}`)
    },
  })
}

/** Units or money with the sign of the API: credit is negative. */
function checkAmount(value: unknown, path: string): void {
  const isAmount = typeof value === 'number' || typeof value === 'string'
  if (isAmount && microsFrom(value) !== null) return
  throw new FieldError(path, 'must be a number or decimal text with at most 6 decimals')
}
