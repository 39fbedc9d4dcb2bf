/**
 * Credit is positive everywhere except in balance documents and `balances/update`, where prepaid
 * credit is a negative number that usage raises to zero. This is the only place that converts
 * between the two.
 */

/**
 * Converts credit (positive) to the amount of a balance document (negative), and back: the function
 * is its own inverse.
 */
export function flipCreditSign(amount: number): number {
  // Unary minus would turn 0 into -0, which is stored and serialised as "-0".
  return 0 - amount
}
