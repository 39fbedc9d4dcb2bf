import type { Payments } from '../payments/payments.ts'
import type { ActionCall } from './action.ts'

/** The parts for charges and cards. Throws on a server that was started without them. */
export function paymentsOf({ payments }: ActionCall): Payments {
  if (payments === undefined) throw new RangeError('the server has no payments')
  return payments
}
