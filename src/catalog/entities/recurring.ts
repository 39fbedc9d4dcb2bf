/** What plans and services cost by themselves, cycle after cycle (spec/entity-api.md 4.3, 4.4). */
import { Type } from '@sinclair/typebox'

/** Checked by compile/recurring.ts when they are written. */
export const recurringFields = {
  /** By months since the activation. */
  price: Type.Optional(Type.Unknown()),
  recurrence: Type.Optional(Type.Unknown()),
  tax: Type.Optional(Type.Unknown()),
  rounding_rules: Type.Optional(Type.Unknown()),
}
