/** Amounts in the smallest unit of a currency (https://docs.stripe.com/currencies). */
import { exactDecimal, toScale } from '../../../domain/money.ts'
import { GatewayRefusedError } from '../gateway.ts'

const WITHOUT_DECIMALS: ReadonlySet<string> = new Set(
  'bif clp djf gnf jpy kmf krw mga pyg rwf vnd vuv xaf xof xpf'.split(' '),
)
const WITH_THREE: ReadonlySet<string> = new Set(['bhd', 'jod', 'kwd', 'omr', 'tnd'])

/** Throws `GatewayRefusedError` for an amount that the currency cannot express. */
export function minorUnits(amount: string, currency: string): number {
  const digits = WITHOUT_DECIMALS.has(currency) ? 0 : WITH_THREE.has(currency) ? 3 : 2
  const decimal = exactDecimal(amount)
  const units = decimal === null ? null : toScale(decimal, digits)
  // Stripe takes no third decimal that is not 0.
  if (units !== null && units > 0 && (digits < 3 || units % 10 === 0)) return units
  throw new GatewayRefusedError('amount', `${currency} cannot express the amount ${amount}`)
}
