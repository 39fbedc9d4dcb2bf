/** Exact fractions, for explanations; the hot path uses integers (money.ts). */
export interface Fraction {
  readonly numerator: bigint
  /** Denominator, above zero. */
  readonly denominator: bigint
}

export function integerFraction(value: number | bigint): Fraction {
  return { numerator: BigInt(value), denominator: 1n }
}

export function plus(a: Fraction, b: Fraction): Fraction {
  if (a.denominator === b.denominator)
    return { numerator: a.numerator + b.numerator, denominator: a.denominator }
  return {
    numerator: a.numerator * b.denominator + b.numerator * a.denominator,
    denominator: a.denominator * b.denominator,
  }
}

export function product(a: Fraction, b: Fraction): Fraction {
  return { numerator: a.numerator * b.numerator, denominator: a.denominator * b.denominator }
}

/** The shortest exact decimal; otherwise the reduced fraction `a/b`. */
export function exactText({ numerator, denominator }: Fraction): string {
  const divisor = greatestDivisor(numerator < 0n ? -numerator : numerator, denominator)
  const [top, bottom] = [numerator / divisor, denominator / divisor]
  if (bottom === 1n) return String(top)
  const digits = decimalDigits(bottom)
  return digits < 0 ? `${top}/${bottom}` : decimal((top * 10n ** BigInt(digits)) / bottom, digits)
}

/** Number of decimals of 1/denominator; -1 if they do not end. */
function decimalDigits(under: bigint): number {
  const [twos, odd] = powersOf(2n, under)
  const [fives, rest] = powersOf(5n, odd)
  return rest === 1n ? Math.max(twos, fives) : -1
}

function powersOf(prime: bigint, value: bigint): [count: number, rest: bigint] {
  let count = 0
  let rest = value
  while (rest % prime === 0n) {
    rest /= prime
    count += 1
  }
  return [count, rest]
}

/** Expects a reduced fraction, whose last digit is not 0. */
function decimal(scaled: bigint, digits: number): string {
  const sign = scaled < 0n ? '-' : ''
  const text = String(scaled < 0n ? -scaled : scaled).padStart(digits + 1, '0')
  return `${sign}${text.slice(0, -digits)}.${text.slice(-digits)}`
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [high, low] = [a, b]
  while (low > 0n) [high, low] = [low, high % low]
  return high === 0n ? 1n : high
}
