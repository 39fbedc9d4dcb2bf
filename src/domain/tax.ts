/** Taxes and rounding: the rules that a segment stores, and their result. */

/** One tax of a line. */
export interface TaxRule {
  key: string
  description: string
  /** `type` of the tax hint, such as `vat`. */
  type: string
  /** Fraction as decimal text: 17 % is `0.17`. */
  rate: string
  /** The tax is included in the price instead of being listed separately. */
  isEmbedded: boolean
}

/** Rounding of the final charge of a line, after tax (`rounding_rules`). */
export interface LineRounding {
  mode: 'up' | 'down' | 'nearest'
  /** Decimals, 0 to 10. */
  decimals: number
}

/** The amount of one tax of a line. Money is the nearest double. */
export interface LineTax {
  /** Fraction: 17 % is 0.17. */
  tax: number
  amount: number
  description: string
  key: string
  type: string
  pass_to_customer: 1
  /** Amount of a tax that is part of `aprice`; then `amount` is 0. */
  embedded_amount?: number
  /** Amount before rounding of the final charge, if it was rounded. */
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
  /** The exact amounts as decimal texts. */
  exact: { aprice: string; tax: string; final_charge: string }
}
