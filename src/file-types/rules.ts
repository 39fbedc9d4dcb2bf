/** A document's own rules for identification and rate matching. */
import { createHash } from 'node:crypto'
import { FieldError, type Fields, isObject, isUnset } from '../domain/fields.ts'
import { compileIdentification, type Identification } from '../rating/identify.ts'
import { ANY_USAGET, type Calculators, compileCalculators } from '../rating/match/calculators.ts'
import type { FileTypeDefaults, RuleDocuments } from './file-type.ts'
import { compilePath, type Path } from './paths.ts'
import type { Mappings } from './usage.ts'

const IDENTIFICATION = 'customer_identification_fields'
const CALCULATORS = 'rate_calculators'

/** A message field that rules read, copied to the request under the name used in the rules. */
export interface RetainedField {
  readonly name: string
  readonly path: Path
  /** Whether identification reads it. */
  readonly identifies: boolean
}

export interface FileTypeRules {
  /** See `FileType.rulesKey` and `FileType.rules`. */
  readonly key: string
  readonly documents: RuleDocuments | null
  readonly retained: readonly RetainedField[]
  /** Whether the usage type has identification rules. */
  readonly identifies: (usaget: string | null) => boolean
}

/** The installation's rules apply to absent sections. Throws `FieldError`. */
export function compileFileTypeRules(
  document: Fields,
  path: string,
  mappings: Mappings,
  defaults: FileTypeDefaults,
): FileTypeRules {
  const { countryPrefix, rules } = defaults
  const identifiers = section(document, IDENTIFICATION, rules.customerIdentification, path)
  const matchers = section(document, CALCULATORS, rules.rateCalculators, path)
  const identification = compileIdentification(identifiers.value, countryPrefix, identifiers.path)
  const calculators = compileCalculators(matchers.value, matchers.path)
  if (identifiers.isOwn) checkIdentification(identification, mappings, identifiers.path)
  if (matchers.isOwn) checkCalculators(calculators, mappings, matchers.path)
  const documents = {
    rateCalculators: matchers.value,
    customerIdentification: identifiers.value,
  }
  const isOwn = identifiers.isOwn || matchers.isOwn
  return {
    key: isOwn ? contentDigest(documents) : '',
    documents: isOwn ? documents : null,
    retained: retainedFields(identification, calculators, identifiers.path, matchers.path),
    identifies: (usaget) => identification.covers(usaget),
  }
}

interface Section {
  value: unknown
  path: string
  isOwn: boolean
}

function section(document: Fields, key: string, absent: unknown, path: string): Section {
  const own = document[key]
  return { value: isUnset(own) ? absent : own, path: `${path}.${key}`, isOwn: !isUnset(own) }
}

function checkIdentification({ covers }: Identification, mappings: Mappings, path: string): void {
  const uncovered = namesOf(mappings).find((usaget) => !covers(usaget))
  if (uncovered !== undefined) throw new FieldError(`${path}.${uncovered}`, 'is missing', 'missing')
}

/** Requires rules in at least one category: others may apply to some usage types only. */
function checkCalculators({ categories }: Calculators, mappings: Mappings, path: string): void {
  const isCovered = (usaget: string) =>
    [...categories.values()].some((usagets) => usagets.has(usaget) || usagets.has(ANY_USAGET))
  const uncovered = namesOf(mappings).find((usaget) => !isCovered(usaget))
  if (uncovered === undefined) return
  throw new FieldError(path, `has no rules for usage type '${uncovered}'`)
}

/** If messages name usage types, the rules must have an entry for any usage type. */
function namesOf({ mainUsagets, isOpen }: Mappings): readonly string[] {
  return isOpen ? [...mainUsagets, ANY_USAGET] : mainUsagets
}

function retainedFields(
  identification: Identification,
  calculators: Calculators,
  identificationPath: string,
  calculatorsPath: string,
): readonly RetainedField[] {
  const identifying = new Set(identification.fieldsNeeded())
  const names = new Set([...identifying, ...calculators.fieldsNeeded()])
  return [...names].sort().map((name) => {
    const identifies = identifying.has(name)
    const path = compilePath(name)
    // Records sent to a worker inherit such names, so absence could not be detected.
    if (path === null || name in Object.prototype) {
      const at = identifies ? identificationPath : calculatorsPath
      throw new FieldError(at, `reads '${name}', which cannot be the path of a field`)
    }
    return { name, path, identifies }
  })
}

/** Hex digest of content, independent of the key order. */
export function contentDigest(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex')
}

/** Canonical JSON: the same text for the same content in any key order. */
export function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (!isObject(value)) return JSON.stringify(value) ?? 'null'
  const keys = Object.keys(value).filter((key) => value[key] !== undefined)
  const members = keys.sort().map((key) => `${JSON.stringify(key)}:${canonicalJson(value[key])}`)
  return `{${members.join(',')}}`
}
