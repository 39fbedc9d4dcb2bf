/** The rules of the configuration, compiled once (spec/realtime.md 1.3, 1.4). */
import { compileIdentification, type Identification } from './identify.ts'
import { type Calculators, compileCalculators } from './match/calculators.ts'
import { compileTaxMapping } from './tax-mapping.ts'

/** As the configuration has them. */
export interface RatingRuleSettings {
  readonly rateCalculators: unknown
  readonly customerIdentification: unknown
  readonly countryPrefix: string
  readonly taxMapping: unknown
}

export interface Rules {
  readonly calculators: Calculators
  readonly identification: Identification
  /** Names of all the request's fields that a decoder must keep. */
  readonly keptFields: readonly string[]
}

/** Throws `FieldError` with the path of what cannot be used. */
export function compileRules(settings: RatingRuleSettings): Rules {
  const calculators = compileCalculators(settings.rateCalculators)
  const { customerIdentification, countryPrefix } = settings
  const identification = compileIdentification(customerIdentification, countryPrefix)
  const kept = new Set([...calculators.fieldsNeeded(), ...identification.fieldsNeeded()])
  // Another one may be stored while the node runs; this one must be of use all the same.
  compileTaxMapping(settings.taxMapping)
  return { calculators, identification, keptFields: [...kept].sort() }
}
