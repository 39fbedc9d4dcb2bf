import { type Decimal128, Double, Int32 } from 'bson'
import type { Numeric } from './document.ts'
import { addExact, decimalOf, type ExactNumber, exactOf, toDecimal } from './numeric.ts'

const SCALE = 1e6
/** A scaled double below has at most 15 digits, so that it is the decimal of the double. */
const SCALED_MAX = 1e15
/** A sum of scaled numbers is exact up to here and one more number. */
const SUM_MAX = 2 ** 52

/** An exact sum of numbers, each of them converted to a decimal. */
export class DecimalSum {
  /** Sum of the numbers with at most 6 decimals, in millionths. */
  #micros = 0
  #others: ExactNumber = { coefficient: 0n, exponent: 0 }
  /** Sum of infinities and NaN, if there are any. */
  #special: number | undefined

  add(value: Numeric): void {
    if (value instanceof Double || value instanceof Int32) {
      const micros = Math.round(value.value * SCALE)
      if (Math.abs(micros) < SCALED_MAX && micros / SCALE === value.value) {
        this.#micros += micros
        if (Math.abs(this.#micros) > SUM_MAX) this.#flush()
        return
      }
    }
    const exact = exactOf(toDecimal(value))
    if (typeof exact === 'number') this.#special = (this.#special ?? 0) + exact
    else this.#others = addExact(this.#others, exact)
  }

  result(): Decimal128 {
    if (this.#special !== undefined) return toDecimal(new Double(this.#special))
    this.#flush()
    return decimalOf(this.#others)
  }

  #flush(): void {
    if (this.#micros === 0) return
    const micros = { coefficient: BigInt(this.#micros), exponent: -6 }
    this.#others = addExact(this.#others, micros)
    this.#micros = 0
  }
}
