/** Decimals as written in documents, and the named rounding modes, in exact fractions. */
import { type Fraction, fraction, fromDecimal, nearestEven } from '../../domain/fraction.ts'

export const ZERO: Fraction = fraction(0)

export const MICROS = 1_000_000n

/** The decimal that a number of a document represents: `0.1` is a tenth, `1e-9` a billionth. */
export function exact(shown: number): Fraction {
  const [mantissa = '0', exponent = '0'] = String(shown).split('e')
  const { over, under } = fromDecimal(mantissa)
  const power = Number(exponent)
  return power < 0
    ? fraction(over, under * 10n ** BigInt(-power))
    : fraction(over * 10n ** BigInt(power), under)
}

/** The number of decimals of a number of a document. */
export function decimalsOf(shown: number): number {
  const [mantissa = '0', exponent = '0'] = String(shown).split('e')
  const places = (mantissa.split('.')[1] ?? '').length
  return Math.max(0, places - Number(exponent))
}

/** Sum and product without reduction by the common divisor: few terms, many times. */
export function sum(a: Fraction, b: Fraction): Fraction {
  return { over: a.over * b.under + b.over * a.under, under: a.under * b.under }
}

export function product(a: Fraction, b: Fraction): Fraction {
  return { over: a.over * b.over, under: a.under * b.under }
}

export function larger(a: Fraction, b: Fraction): Fraction {
  return a.over * b.under >= b.over * a.under ? a : b
}

export function leastOf(a: bigint, b: bigint): bigint {
  return a < b ? a : b
}

/** Rounding of a non-negative amount; `nearest` rounds a tie up. */
export function roundedTo(amount: Fraction, how: 'up' | 'down' | 'nearest', places: number) {
  const scale = 10n ** BigInt(places)
  const over = amount.over * scale
  const addend = { up: amount.under - 1n, down: 0n, nearest: 0n }[how]
  const whole =
    how === 'nearest'
      ? (2n * over + amount.under) / (2n * amount.under)
      : (over + addend) / amount.under
  return fraction(whole, scale)
}

export function microsOf(amount: Fraction): bigint {
  return nearestEven({ over: amount.over * MICROS, under: amount.under })
}

/** The nearest binary number, for results: exact to about 1e-12 of the amounts in cases. */
export function shown({ over, under }: Fraction): number {
  const scale = 10n ** 15n
  const digits = nearestEven({ over: over * scale, under })
  const text = digits.toString().padStart(16, '0')
  return Number(`${text.slice(0, -15)}.${text.slice(-15)}`)
}
