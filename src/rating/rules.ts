/** The rules of the configuration, compiled once. */
import { compileIdentification, type Identification } from './identify.ts'
import { type Calculators, compileCalculators } from './match/calculators.ts'
import { compileTaxMapping } from './tax-mapping.ts'

/** The rules as configured. */
export interface RatingRuleSettings {
  readonly rateCalculators: unknown
  readonly customerIdentification: unknown
  readonly countryPrefix: string
  readonly taxMapping: unknown
}

export interface Rules {
  readonly calculators: Calculators
  readonly identification: Identification
  /** Names of all request fields that a decoder must keep. */
  readonly keptFields: readonly string[]
}

/** Throws `FieldError` with the path of an invalid field. */
export function compileRules(settings: RatingRuleSettings): Rules {
  const calculators = compileCalculators(settings.rateCalculators)
  const { customerIdentification, countryPrefix } = settings
  const identification = compileIdentification(customerIdentification, countryPrefix)
  const kept = new Set([...calculators.fieldsNeeded(), ...identification.fieldsNeeded()])
  // Only checked: stored settings may replace the mapping while the node runs.
  compileTaxMapping(settings.taxMapping)
  return { calculators, identification, keptFields: [...kept].sort() }
}
