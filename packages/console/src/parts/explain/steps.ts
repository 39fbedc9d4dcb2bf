/** The steps of a line (`rating`) as the API answers them; amounts are decimal texts or `a/b`. */

export const CHANGES = [
  'begun',
  'beyond',
  'access',
  'percentage',
  'minimum',
  'rounding',
  'credited',
  'earlier',
] as const
export const PAYERS = ['group', 'bucket', 'credit', 'limit', 'debt'] as const
/** All kinds that have a sentence and a mark. */
export const KINDS = ['price', 'tier', ...CHANGES, ...PAYERS] as const
export type Kind = (typeof KINDS)[number]

export interface Step {
  readonly step: string
  readonly [field: string]: unknown
}

/** The fields of a line that are explained. */
export interface RatedLine {
  readonly usaget?: string
  /** Exact price before tax in millionths. */
  readonly aprice_micros?: number
  readonly rating?: readonly Step[]
}

/** A price step with the steps that compute it. */
export interface PricePart {
  readonly price: Step
  readonly steps: readonly Step[]
}

export interface Computation {
  readonly prices: readonly PricePart[]
  readonly payments: readonly Step[]
  /** Steps of kinds that this version does not know. */
  readonly unknown: readonly Step[]
}

const isIn = (kinds: readonly string[], { step }: Step) => kinds.includes(step)

export function isKnown(step: Step): boolean {
  return isIn(KINDS, step)
}

export function isPayment(step: Step): boolean {
  return isIn(PAYERS, step)
}

/** Steps of a price follow it; payments follow all prices. */
export function computationOf(steps: readonly Step[]): Computation {
  const prices: { price: Step; steps: Step[] }[] = []
  for (const step of steps) {
    if (step.step === 'price') prices.push({ price: step, steps: [] })
    else if (step.step === 'tier' || isIn(CHANGES, step)) prices.at(-1)?.steps.push(step)
  }
  return {
    prices,
    payments: steps.filter(isPayment),
    unknown: steps.filter((step) => !isKnown(step)),
  }
}

/** A field as the text that the API sent; empty if it is absent. */
export function fieldText(step: Step, field: string): string {
  const value = step[field]
  if (value === undefined || value === null) return ''
  return typeof value === 'object' ? JSON.stringify(value) : String(value)
}
