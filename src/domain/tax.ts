/** Taxes and rounding: what a segment keeps of them, and what they make of its price. */

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

/** One tax of a line; money as the nearest number. */
export interface LineTax {
  /** Fraction: 17 % is 0.17. */
  tax: number
  amount: number
  description: string
  key: string
  type: string
  pass_to_customer: 1
  /** Of a tax that is part of `aprice`: then `amount` is 0. */
  embedded_amount?: number
  /** Where the final charge was rounded: the amount until then. */
  amount_before_rounding?: number
}

export interface TaxData {
  total_amount: number
  /** Sum of the rates. */
  total_tax: number
  taxes: LineTax[]
  total_amount_before_rounding?: number
}

export interface FinalCharge {
  /** With embedded taxes. */
  aprice: number
  final_charge: number
  tax_data: TaxData
  before_rounding?: { final_charge: number; aprice: number }
  /** The same as decimal texts. */
  exact: { aprice: string; tax: string; final_charge: string }
}
