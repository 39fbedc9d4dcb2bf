/** What subscribers and accounts have in common: they hold services, and may owe. */
import { Type } from '@sinclair/typebox'

/** Checked by compile/profile.ts and compile/overrides.ts, whose words for a path are better. */
export const holderFields = {
  services: Type.Optional(Type.Unknown()),
  overrides: Type.Optional(Type.Unknown()),
  /** Money per cycle that a postpaid one may owe; absent: no limit. */
  credit_limit: Type.Optional(Type.Unknown()),
}

export const HOLDER_DATES = [
  'activation_date',
  'deactivation_date',
  'services.*.from',
  'services.*.to',
  'services.*.creation_time',
] as const
