/** Money amounts as digits and an exponent of ten (RFC 8506 section 8.8). */

const DECIMAL = /^(-?)(\d+)(?:\.(\d*?)0*)?$/

/** A decimal number: its digits with the sign, and the number of decimal places. */
export interface DecimalAmount {
  digits: string
  scale: number
}

/** Undefined if the text is not a decimal number. */
export function amountOf(decimal: string): DecimalAmount | undefined {
  const parts = DECIMAL.exec(decimal)
  if (parts === null) return undefined
  const [, sign = '', whole = '', fraction = ''] = parts
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '')
  return { digits: sign + digits, scale: fraction.length }
}
