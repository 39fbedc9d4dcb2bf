/** Templates of rate keys, which are tried if no calculators are configured. */

/** The fields that a template may contain. */
export interface RateKeyFields {
  usaget: string
  /** -1 if the request has none. */
  ratingGroup: number
}

/** Builds a rate key from the fields; null if a required field is absent. */
export type RateKeyTemplate = (fields: RateKeyFields) => string | null

/** Placeholder for the rate with the longest prefix of the called number; it yields no key. */
export const CALLED_NUMBER = '{called_number}'

/**
 * Compiles a template of `rating.rateKeys`, such as `{USAGET}_{rating_group}`. Throws for an
 * unknown placeholder.
 */
export function compileRateKey(template: string): RateKeyTemplate {
  if (template === CALLED_NUMBER) return () => null
  const parts = template.split(/(\{[^}]*\})/).filter((part) => part !== '')
  const makers = parts.map((part): RateKeyTemplate => {
    switch (part) {
      case '{usaget}':
        return (fields) => fields.usaget
      case '{USAGET}':
        return (fields) => fields.usaget.toUpperCase()
      case '{rating_group}':
        return (fields) => (fields.ratingGroup < 0 ? null : String(fields.ratingGroup))
      default:
        if (part.startsWith('{')) throw new Error(`rating.rateKeys: unknown placeholder ${part}`)
        return () => part
    }
  })
  return memoized((fields) => {
    let key = ''
    for (const make of makers) {
      const text = make(fields)
      if (text === null) return null
      key += text
    }
    return key
  })
}

/** Maximum number of cached keys per template. */
const KEYS_MAX = 1000

/** Few keys recur, and a map finds the same string object faster than a new one. */
function memoized(make: RateKeyTemplate): RateKeyTemplate {
  const usagets = new Map<string, Map<number, string | null>>()
  let count = 0
  return (fields) => {
    const { usaget, ratingGroup } = fields
    const cached = usagets.get(usaget)?.get(ratingGroup)
    if (cached !== undefined) return cached
    const key = make(fields)
    if (count >= KEYS_MAX) {
      usagets.clear()
      count = 0
    }
    const groups = usagets.get(usaget) ?? new Map<number, string | null>()
    usagets.set(usaget, groups.set(ratingGroup, key))
    count += 1
    return key
  }
}
