import {
  boolean,
  change,
  collection,
  create,
  integer,
  integers,
  lifecycle,
  list,
  optional,
  PERIOD,
  permanentChange,
  read,
  required,
  text,
  texts,
} from './params.ts'

/** Both fields are unique, so each of them identifies an entity. */
const KEY = { name: text, external_id: integer } as const

const FIELDS = {
  name: required(text),
  external_id: required(integer),
  priority: required(integer),
  description: text,
  charging_by: { type: 'string', mandatory: true, options: ['usagev', 'cost', 'total_cost'] },
  charging_by_usaget: required(text),
  charging_by_usaget_unit: text,
  shared: boolean,
  unlimited: boolean,
  allowed_in: list,
  additional_charging_usaget: list,
} as const

const LATER = optional(FIELDS)

/** Prepaid includes: definitions of buckets. They have no configured fields. */
export const prepaidIncludes = collection({
  name: 'prepaidincludes',
  about: 'Definitions of buckets',
  store: 'prepaidincludes',
  keyField: 'name',
  duplicate: { fields: ['name', 'external_id'], by: 'any' },
  actions: {
    get: read({ name: texts, description: texts, external_id: integers }, { customFields: false }),
    uniqueget: read(
      { name: texts, external_id: integers, priority: integers },
      { customFields: false },
    ),
    create: create({ ...PERIOD, ...FIELDS }, { customFields: false }),
    update: change(KEY, LATER, { customFields: false }),
    closeandnew: change(KEY, { ...PERIOD, ...LATER }, { customFields: false }),
    permanentchange: permanentChange(KEY, optional(FIELDS, ['name', 'external_id']), {
      customFields: false,
    }),
    ...lifecycle(KEY, { hasConfiguredFields: false }),
  },
})
