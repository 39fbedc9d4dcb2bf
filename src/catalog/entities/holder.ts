/** Fields of subscribers and accounts, checked by compile/profile.ts and compile/overrides.ts. */
import { Type } from '@sinclair/typebox'
import { type ConfiguredField, configuredField, type FieldApi, field, READS } from './api.ts'
import { date, positiveInteger, unchecked } from './entity.ts'
import { either, listOf, ref, text as textSchema } from './json-schema.ts'

const SERVICES = 'Services of the holder.'

export const servicesField = (configured?: ConfiguredField) =>
  field(
    unchecked(),
    listOf(
      either('A service: its name alone, or an entry.', textSchema('Name.'), ref('serviceEntry')),
      SERVICES,
    ),
    {
      storedShape: listOf(ref('serviceEntry'), SERVICES),
      ...(configured !== undefined && { configured }),
    },
  )

export const overridesField = (api: FieldApi = {}) =>
  field(
    unchecked(),
    listOf(ref('override'), 'Overridden fields of plans and services, for this holder.'),
    { type: 'json', ...api },
  )

/** Maximum postpaid debt per cycle; unlimited if absent. */
export const creditLimitField = () =>
  configuredField(unchecked(), {
    type: 'decimal',
    title: 'Credit limit',
    description: 'Most that may be owed in a billing cycle, before tax; empty: no limit',
  })

/** The number of an account or subscriber, which the node assigns. */
export const numberField = (docs: string, title: string, more: ConfiguredField) =>
  field(positiveInteger(), docs, {
    type: 'generated',
    key: true,
    update: ['create'],
    query: READS,
    configured: { type: 'integer', ...more, generated: true, title },
  })

/** Personal data that is mandatory. `query`: reads that can filter by it. */
export const personField = (title: string, more: ConfiguredField = {}) =>
  configuredField(unchecked(), { type: 'text', personal: true, mandatory: true, title, ...more })

export const nameFields = {
  firstname: field(unchecked(), 'First name.', nameApi('First name')),
  lastname: field(unchecked(), 'Last name.', nameApi('Last name')),
}

function nameApi(title: string): FieldApi {
  const configured = { type: 'text', personal: true, mandatory: true, title, searchable: true }
  return { type: 'string', update: [], query: ['uniqueget'], configured }
}

export const creationField = () =>
  field(Type.Optional(date()), 'When the entity was created.', { derived: true, query: READS })

export const activationFields = {
  activation_date: field(Type.Optional(date()), 'Start of the first revision; derived.', {
    derived: true,
  }),
  deactivation_date: field(Type.Optional(date()), 'End of the last revision; derived.', {
    derived: true,
  }),
}

export const SERVICE_DATES = [
  'services.*.from',
  'services.*.to',
  'services.*.creation_time',
] as const
