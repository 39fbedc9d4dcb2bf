/**
 * Credit is positive everywhere but in balance documents and `balances/update`, where prepaid
 * credit is a negative number that usage raises to zero (spec/realtime.md 6.1). This is the one
 * place where the one becomes the other (design.md §1).
 */

/**
 * Credit (positive) to the amount of a balance document (negative), and back: it is its own
 * inverse.
 */
export function flipCreditSign(amount: number): number {
  // A plain minus would make -0 of 0, which is stored and shown as "-0".
  return 0 - amount
}
