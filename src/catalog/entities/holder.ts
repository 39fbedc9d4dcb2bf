/** Common fields of subscribers and accounts: services and credit limit. */
import { Type } from '@sinclair/typebox'

/** Checked by compile/profile.ts and compile/overrides.ts, with more specific messages. */
export const holderFields = {
  services: Type.Optional(Type.Unknown()),
  overrides: Type.Optional(Type.Unknown()),
  /** Maximum postpaid debt per cycle; unlimited if absent. */
  credit_limit: Type.Optional(Type.Unknown()),
}

export const HOLDER_DATES = [
  'activation_date',
  'deactivation_date',
  'services.*.from',
  'services.*.to',
  'services.*.creation_time',
] as const
