import type { Payments } from '../payments/payments.ts'
import type { ActionCall } from './action.ts'

/** What charges and cards need. Throws on a server that was started without it. */
export function paymentsOf({ payments }: ActionCall): Payments {
  if (payments === undefined) throw new RangeError('the server has no payments')
  return payments
}
