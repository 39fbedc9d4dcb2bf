/** Prices of offers and rates as short texts; amounts as the API has them. */
type Fields = Readonly<Record<string, unknown>>

export interface PriceText {
  readonly of: string
  readonly price: string
}

/** Prices of a plan or service for a cycle: `20`, or `0–3: 20; 3–UNLIMITED: 10`. */
export function offerPrices({ name, price }: Fields): readonly PriceText[] {
  if (!Array.isArray(price) || price.length === 0) return []
  const tiers = price as Fields[]
  const texts = tiers.map((tier) => `${String(tier['price'])}`)
  const [only] = texts
  if (tiers.length === 1 && only !== undefined) return [{ of: String(name), price: only }]
  const all = tiers.map(({ from, to }, index) => `${String(from)}–${String(to)}: ${texts[index]}`)
  return [{ of: String(name), price: all.join('; ') }]
}

/** The price of each usage type: that of the plan, otherwise the plain price. */
export function ratePrices({ key, rates }: Fields, plan: string): readonly PriceText[] {
  if (typeof rates !== 'object' || rates === null) return []
  return Object.entries(rates as Record<string, Fields>).flatMap(([usaget, sources]) => {
    const source = sources[plan] === undefined ? 'BASE' : plan
    const price = sources[source] as Fields | undefined
    if (price === undefined) return []
    const usage =
      source === 'BASE' ? `${String(key)} ${usaget}` : `${String(key)} ${usaget} ${source}`
    return [{ of: usage, price: ratePrice(price) }]
  })
}

function ratePrice({ percentage, access, rate, bands }: Fields): string {
  if (percentage !== undefined) return `× ${String(percentage)}`
  const tiers = (Array.isArray(rate) ? (rate as Fields[]) : []).map(
    ({ from, to, interval, price }) => {
      const range = from === undefined ? '' : `${String(from)}–${String(to)}: `
      return `${range}${String(price)} / ${String(interval ?? 1)}`
    },
  )
  const begin = access === undefined || String(access) === '0' ? [] : [`${String(access)} +`]
  const more = Array.isArray(bands) && bands.length > 0 ? ['…'] : []
  return [...begin, tiers.join('; '), ...more].join(' ')
}
