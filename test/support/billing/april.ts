/** Discounts of April 2026, which has 30 days: a discount of 30 is 1 per day. */
import type { Fields } from '../../../src/domain/fields.ts'
import { chargeOf, cycleOf } from './cycle.ts'

export const cycle = cycleOf('202605')
export const daily = (fields: Fields): Fields => ({
  key: 'D',
  type: 'monetary',
  subject: { monthly_fees: { value: 30 } },
  ...fields,
})
export const when = (...conditions: Fields[]) => ({ params: { conditions } })
export const lineOf = (sid = 1) =>
  chargeOf(cycle, { sid, kind: 'service', name: 'S', fullPrice: 3000 })

export const GOLD = { plan: 'GOLD' }
export const IRON = { plan: 'IRON' }
export const from = (day: string, fields: Fields = GOLD) => ({ ...fields, from: `2026-04-${day}` })
export const to = (day: string, fields: Fields = GOLD) => ({ ...fields, to: `2026-04-${day}` })
