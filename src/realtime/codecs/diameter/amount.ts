/** Amounts of money as digits and a power of ten (RFC 8506 section 8.8). */

const DECIMAL = /^(-?)(\d+)(?:\.(\d*?)0*)?$/

/** A decimal number: its digits with the sign, and how many of them are behind the point. */
export interface DecimalAmount {
  digits: string
  scale: number
}

/** Undefined if the text is no decimal number. */
export function amountOf(decimal: string): DecimalAmount | undefined {
  const parts = DECIMAL.exec(decimal)
  if (parts === null) return undefined
  const [, sign = '', whole = '', fraction = ''] = parts
  const digits = `${whole}${fraction}`.replace(/^0+(?=\d)/, '')
  return { digits: sign + digits, scale: fraction.length }
}
