/** Custom fields of accounts and subscribers, from the category `subscribers`. */
import { type CustomField, type Fields, isObject } from '../../../domain/fields.ts'
import { NUMBERINGS } from '../../../domain/numbering.ts'
import { AccountSchema } from '../../entities/account.ts'
import { SubscriberSchema } from '../../entities/subscriber.ts'

export interface CustomFields {
  readonly account: readonly CustomField[]
  readonly subscriber: readonly CustomField[]
}

/**
 * `value`: as stored. Invalid settings are left out, and those of
 * built-in fields except `numbering`.
 */
export function customFieldsOf(value: unknown): CustomFields {
  const fieldsOf = (kind: 'account' | 'subscriber', schema: { properties: object }) => {
    const part = isObject(value) ? value[kind] : undefined
    const list = isObject(part) ? part['fields'] : undefined
    if (!Array.isArray(list)) return []
    return list.filter(isObject).flatMap((field) => customField(field, schema.properties))
  }
  return {
    account: fieldsOf('account', AccountSchema),
    subscriber: fieldsOf('subscriber', SubscriberSchema),
  }
}

function customField(field: Fields, builtIn: object): CustomField[] {
  const { field_name: name, type, mandatory, plays } = field
  if (typeof name !== 'string') return []
  const numbering = NUMBERINGS.find((each) => each === field['numbering'])
  const isBuiltIn = Object.hasOwn(builtIn, name.split('.')[0] ?? '')
  if (isBuiltIn && numbering === undefined) return []
  return [
    {
      name,
      isMandatory: !isBuiltIn && mandatory === true,
      isDate: !isBuiltIn && (type === 'date' || type === 'datetime'),
      ...(numbering !== undefined && { numbering }),
      plays: Array.isArray(plays) ? plays.map(String) : [],
    },
  ]
}
