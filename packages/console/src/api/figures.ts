/** Numbers of answers: exact, as the API wrote them. */

declare const decimal: unique symbol
/** A decimal number as text, exactly as the API wrote it. */
export type DecimalText = string & { readonly [decimal]: true }
/**
 * A number of an answer: whole numbers that a browser represents exactly are numbers, all others
 * (prices, amounts, large volumes) are text. The console computes nothing from them but sums.
 */
export type Figure = number | DecimalText

/** The type of an answer with figures in place of numbers. */
export type WithFigures<T> = T extends number
  ? Figure
  : T extends readonly (infer Item)[]
    ? WithFigures<Item>[]
    : T extends object
      ? { [Key in keyof T]: WithFigures<T[Key]> }
      : T

/** The exact sum. */
export function sumOf(figures: readonly Figure[]): Figure {
  const parts = figures.map((figure) => {
    const [whole = '', fraction = ''] = String(figure).split('.')
    return { digits: BigInt(whole + fraction), scale: fraction.length }
  })
  const scale = Math.max(0, ...parts.map((part) => part.scale))
  const sum = parts.reduce((total, part) => {
    return total + part.digits * 10n ** BigInt(scale - part.scale)
  }, 0n)
  const magnitude = String(sum < 0n ? -sum : sum).padStart(scale + 1, '0')
  const fraction = magnitude.slice(magnitude.length - scale).replace(/0+$/, '')
  const whole = `${sum < 0n ? '-' : ''}${magnitude.slice(0, magnitude.length - scale)}`
  if (fraction !== '') return `${whole}.${fraction}` as DecimalText
  return Number.isSafeInteger(Number(whole)) ? Number(whole) : (whole as DecimalText)
}

/** Parses JSON without rounding. Browsers that hide the source text of numbers round as usual. */
export function parseExactly(text: string): unknown {
  return JSON.parse(text, reviveNumber as Parameters<typeof JSON.parse>[1])
}

function reviveNumber(_key: string, value: unknown, context?: { source?: string }): unknown {
  if (typeof value !== 'number' || Number.isSafeInteger(value)) return value
  return exactDecimal(context?.source ?? String(value))
}

/**
 * A document as somebody has typed it, and its first number that the server cannot hold exactly.
 * Throws `SyntaxError`.
 */
export function parseDocument(text: string): { value: unknown; inexact: string | null } {
  let inexact: string | null = null
  const revive = (_key: string, value: unknown, context?: { source?: string }) => {
    const source = context?.source
    if (typeof value === 'number' && source !== undefined && !isHeld(value, source)) {
      inexact ??= source
    }
    return value
  }
  const value: unknown = JSON.parse(text, revive as Parameters<typeof JSON.parse>[1])
  return { value, inexact }
}

function isHeld(value: number, source: string): boolean {
  const digitsOf = (text: string) =>
    exactDecimal(text)
      .replace(/(\.\d*?)0+$/, '$1')
      .replace(/\.$/, '')
  return digitsOf(String(value)) === digitsOf(source)
}

/** Without an exponent, as `Intl.NumberFormat` and the API take both, but people do not. */
export function exactDecimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', power = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(text) ?? []
  const shift = Number(power)
  if (whole === '' || Math.abs(shift) > 400) return text
  const digits = whole + fraction
  const point = whole.length + shift
  const padded = digits.padStart(digits.length + Math.max(0, 1 - point), '0')
  const at = Math.max(1, point)
  const integer = padded
    .slice(0, at)
    .padEnd(at, '0')
    .replace(/^0+(?=\d)/, '')
  const rest = padded.slice(at)
  return `${sign}${integer}${rest === '' ? '' : `.${rest}`}`
}
