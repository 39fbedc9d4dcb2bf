/** Category `bills` of the stored configuration: how payments cover bills, and their fields. */
import { Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { fieldNames } from './payment-settings.ts'

export const BillsSchema = Type.Object(
  {
    switch_links: Type.Optional(Type.Boolean({ description: 'true or false' })),
    uf: Type.Optional(fieldNames('a list')),
  },
  { additionalProperties: false, description: 'an object with switch_links and uf' },
)

export interface BillSettings {
  /** New money covers the oldest bills, before unconfirmed payments do. */
  readonly switchLinks: boolean
  /** Names of fields of `uf`, of payments and of bills. */
  readonly userFields: readonly string[]
}

/** Defaults if the stored value is invalid. */
export function billSettingsOf(value: unknown): BillSettings {
  if (!Value.Check(BillsSchema, value)) return { switchLinks: false, userFields: [] }
  const { switch_links: switchLinks = false, uf: userFields = [] } = value
  return { switchLinks, userFields }
}
