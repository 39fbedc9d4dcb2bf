/** Custom fields of accounts and subscribers, from the category `subscribers`. */
import { type CustomField, type Fields, isObject } from '../../domain/fields.ts'
import { AccountSchema } from '../entities/account.ts'
import { SubscriberSchema } from '../entities/subscriber.ts'

export interface CustomFields {
  readonly account: readonly CustomField[]
  readonly subscriber: readonly CustomField[]
}

/** `value`: as stored. Settings of built-in fields, and invalid ones, are left out. */
export function customFieldsOf(value: unknown): CustomFields {
  const of = (kind: 'account' | 'subscriber', schema: { properties: object }) => {
    const part = isObject(value) ? value[kind] : undefined
    const list = isObject(part) ? part['fields'] : undefined
    if (!Array.isArray(list)) return []
    return list.filter(isObject).flatMap((field) => customField(field, schema.properties))
  }
  return { account: of('account', AccountSchema), subscriber: of('subscriber', SubscriberSchema) }
}

function customField(field: Fields, builtIn: object): CustomField[] {
  const { field_name: name, type, mandatory, plays } = field
  if (typeof name !== 'string' || Object.hasOwn(builtIn, name.split('.')[0] ?? '')) return []
  return [
    {
      name,
      isMandatory: mandatory === true,
      isDate: type === 'date' || type === 'datetime',
      plays: Array.isArray(plays) ? plays.map(String) : [],
    },
  ]
}
