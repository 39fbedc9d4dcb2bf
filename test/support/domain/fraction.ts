/** Exact rational numbers, for models that must not share arithmetic with the code under test. */
export interface Fraction {
  readonly over: bigint
  /** Above zero. */
  readonly under: bigint
}

export function fraction(over: bigint | number, under: bigint | number = 1n): Fraction {
  return { over: BigInt(over), under: BigInt(under) }
}

export function add(a: Fraction, b: Fraction): Fraction {
  return reduced(a.over * b.under + b.over * a.under, a.under * b.under)
}

export function times(a: Fraction, b: Fraction): Fraction {
  return reduced(a.over * b.over, a.under * b.under)
}

/** The smallest integer not below a non-negative fraction. */
export function upward(a: Fraction): bigint {
  return (a.over + a.under - 1n) / a.under
}

/** The largest integer not above a non-negative fraction. */
export function downward(a: Fraction): bigint {
  return a.over / a.under
}

export function isLess(a: Fraction, b: Fraction): boolean {
  return a.over * b.under < b.over * a.under
}

/** The nearest integer to a non-negative fraction; a tie goes to the even one. */
export function nearestEven(a: Fraction): bigint {
  const below = a.over / a.under
  const double = fraction(2n * (a.over - below * a.under), a.under)
  const side = double.over - double.under
  if (side < 0n) return below
  if (side > 0n) return below + 1n
  return below % 2n === 0n ? below : below + 1n
}

/** A decimal text, `-12.50`, as a fraction. */
export function fromDecimal(text: string): Fraction {
  const [whole = '0', part = ''] = text.split('.')
  return reduced(BigInt(whole + part), 10n ** BigInt(part.length))
}

function reduced(over: bigint, under: bigint): Fraction {
  const divisor = greatestDivisor(over < 0n ? -over : over, under)
  return { over: over / divisor, under: under / divisor }
}

function greatestDivisor(a: bigint, b: bigint): bigint {
  let [high, low] = [a, b]
  while (low > 0n) [high, low] = [low, high % low]
  return high === 0n ? 1n : high
}
