/**
 * Why a line has its price: one sentence, one for each step, and three bands of pieces: units,
 * money and payers. Nothing is computed here; a size is for drawing only.
 */
import { amountText, moneyText, paidText, payerOf, type Speech, sentenceOf } from './sentences.ts'
import { computationOf, fieldText, type PricePart, type RatedLine, type Step } from './steps.ts'

export interface Piece {
  /** The same in each band that shows this part of the usage. */
  readonly key: string
  /** Kind of the step, for its mark. */
  readonly mark: string
  readonly name: string
  /** The amount as text. */
  readonly amount: string
  /** The sentence of the step. */
  readonly sentence: string
  /** Relative length; not an amount. */
  readonly size: number
  /** Keys of the pieces that belong to it in other bands. */
  readonly related: readonly string[]
}

export interface Explanation {
  /** The whole computation in one or two sentences. */
  readonly sentence: string
  readonly steps: readonly { readonly mark: string; readonly sentence: string }[]
  readonly units: readonly Piece[]
  readonly money: readonly Piece[]
  readonly payers: readonly Piece[]
}

export function explainLine(line: RatedLine, speech: Speech): Explanation | null {
  const rating = line.rating ?? []
  if (rating.length === 0) return null
  const usaget = line.usaget ?? ''
  const computation = computationOf(rating)
  const keyed = new Map(rating.map((step, index) => [step, `${step.step}${index}`]))
  const made = new Bands(keyed, usaget, speech)
  return {
    sentence: summaryOf(computation, usaget, speech),
    steps: rating.map((step) => ({
      mark: step.step,
      sentence: sentenceOf(step, usaget, speech),
    })),
    ...made.of(computation.prices, computation.payments),
  }
}

type Computed = ReturnType<typeof computationOf>

function summaryOf(
  { prices, payments, unknown }: Computed,
  usaget: string,
  speech: Speech,
): string {
  const { say } = speech
  const priced = prices.filter(({ price }) => fieldText(price, 'units') !== '0')
  const computed = priced.map(({ price, steps }) => {
    const head = sentenceOf(price, usaget, speech)
    const parts = steps.map((step) => sentenceOf(step, usaget, speech))
    return parts.length === 0 ? head : say('why.computed', { head, parts: parts.join('; ') })
  })
  const paid = payments.map((step) => sentenceOf(step, usaget, speech))
  const others = unknown.map((step) => sentenceOf(step, usaget, speech))
  const sentences = [...computed, ...(paid.length === 0 ? [] : [paid.join('; ')]), ...others]
  return sentences.map((text) => say('why.sentence', { text })).join(' ')
}

const UNIT_STEPS: readonly string[] = ['tier', 'begun', 'beyond']
const MONEY_STEPS: readonly string[] = ['tier', 'access']

class Bands {
  readonly #keys: ReadonlyMap<Step, string>
  readonly #usaget: string
  readonly #speech: Speech

  constructor(keys: ReadonlyMap<Step, string>, usaget: string, speech: Speech) {
    this.#keys = keys
    this.#usaget = usaget
    this.#speech = speech
  }

  of(prices: readonly PricePart[], payments: readonly Step[]) {
    const isPart = (part: string) => (one: PricePart) => fieldText(one.price, 'part') === part
    const charged = prices.filter(isPart('charge'))
    const included = prices.filter(isPart('included'))
    const isGroup = ({ step }: Step) => step === 'group'
    const inMoney = payments.filter((step) => fieldText(step, 'money') !== '')
    const inUnits = payments.filter((step) => fieldText(step, 'money') === '')
    const chargeKeys = this.#keysOf(charged)
    const includedKeys = this.#keysOf(included)
    const groupKeys = inMoney.filter(isGroup).map((step) => this.#key(step))
    const payerKeys = inMoney.filter((step) => !isGroup(step)).map((step) => this.#key(step))
    const units = [
      ...inUnits.map((step) => this.#unitPayment(step)),
      ...this.#unitPieces(included, groupKeys),
      // Rates of further categories have the same units again.
      ...this.#unitPieces(charged.slice(0, 1), payerKeys),
    ]
    const money = [
      ...this.#moneyPieces(included, groupKeys),
      ...this.#moneyPieces(charged, payerKeys),
    ]
    const payers = payments.map((step) => {
      if (fieldText(step, 'money') === '') return this.#payment(step, [])
      return this.#payment(step, isGroup(step) ? includedKeys : chargeKeys)
    })
    return { units, money, payers: withLengthsOf(units, payers) }
  }

  #keysOf(prices: readonly PricePart[]): string[] {
    return prices.flatMap(({ steps }) => steps.map((step) => this.#key(step)))
  }

  #unitPieces(prices: readonly PricePart[], related: readonly string[]): Piece[] {
    const steps = prices.flatMap((one) => one.steps)
    return steps
      .filter(({ step }) => UNIT_STEPS.includes(step))
      .map((step) => this.#piece(step, fieldText(step, 'units'), related))
  }

  #moneyPieces(prices: readonly PricePart[], related: readonly string[]): Piece[] {
    const steps = prices.flatMap((one) => one.steps)
    return steps
      .filter(({ step }) => MONEY_STEPS.includes(step))
      .map((step) => {
        const price = fieldText(step, 'amount')
        return { ...this.#piece(step, price, related), amount: moneyText(this.#speech, price) }
      })
  }

  #piece(step: Step, amount: string, related: readonly string[]): Piece {
    const { say } = this.#speech
    const tier = fieldText(step, 'tier')
    const name = say(`why.name.${step.step}`, { tier })
    return { ...this.#base(step, amount), name, related }
  }

  #payment(step: Step, related: readonly string[]): Piece {
    const money = fieldText(step, 'money')
    const base = this.#base(step, money === '' ? fieldText(step, 'units') : money)
    const name = payerOf(step, this.#speech)
    return { ...base, name, amount: paidText(step, this.#speech), related }
  }

  /** Units that a group or a bucket paid, in the band of units. */
  #unitPayment(step: Step): Piece {
    const { amount } = this.#base(step, fieldText(step, 'units'))
    return { ...this.#payment(step, []), amount }
  }

  #base(step: Step, amount: string) {
    return {
      key: this.#key(step),
      mark: step.step,
      amount: amountText(this.#speech, amount),
      sentence: sentenceOf(step, this.#usaget, this.#speech),
      size: lengthOf(amount),
    }
  }

  #key(step: Step): string {
    return this.#keys.get(step) ?? ''
  }
}

/**
 * Payers of units are as long as in the band of units; payers of money share the length of the
 * units that cost money.
 */
function withLengthsOf(units: readonly Piece[], payers: readonly Piece[]): readonly Piece[] {
  const isOfUnits = ({ key }: Piece) => units.some((each) => each.key === key)
  const lengthOfAll = (pieces: readonly Piece[]) =>
    pieces.reduce((length, { size }) => length + size, 0)
  const ofMoney = payers.filter((payer) => !isOfUnits(payer) && payer.mark !== 'limit')
  const paid = lengthOfAll(ofMoney)
  const priced = lengthOfAll(units.filter(({ key }) => !payers.some((each) => each.key === key)))
  return payers.map((payer) => {
    if (isOfUnits(payer)) return payer
    if (payer.mark === 'limit') return { ...payer, size: 0 }
    return priced === 0 || paid === 0 ? payer : { ...payer, size: (payer.size / paid) * priced }
  })
}

/** For drawing: the magnitude of a decimal or of `a/b`. */
function lengthOf(text: string): number {
  const [over, under] = text.split('/')
  const length = Math.abs(Number(over)) / (under === undefined ? 1 : Number(under))
  return Number.isFinite(length) ? length : 0
}
