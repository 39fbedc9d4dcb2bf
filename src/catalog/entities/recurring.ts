/** Recurring prices of plans and services. */
import { Type } from '@sinclair/typebox'

/** Checked by compile/recurring.ts when written. */
export const recurringFields = {
  /** Prices by cycle since the activation. */
  price: Type.Optional(Type.Unknown()),
  recurrence: Type.Optional(Type.Unknown()),
  tax: Type.Optional(Type.Unknown()),
  rounding_rules: Type.Optional(Type.Unknown()),
}
