/** What of taxes and rounding a segment keeps, so that its line can be finished later. */

/** One tax on a line (spec/action-api.md 5.8). */
export interface TaxRule {
  key: string
  description: string
  /** `type` of the hint that chose it, such as `vat`. */
  type: string
  /** Fraction as decimal text: 17 % is `0.17`. */
  rate: string
  /** The tax is added into the price instead of being shown beside it. */
  isEmbedded: boolean
}

/** Rounding of the final charge of a line, after tax (`rounding_rules`). */
export interface LineRounding {
  mode: 'up' | 'down' | 'nearest'
  /** Digits after the point, 0 to 10. */
  decimals: number
}
