/** Fields by which requests identify subscribers; values are unique at any time. */
import type { Config } from '../../../config/schema.ts'
import { fileTypeDefaultsOf } from '../../../file-types/defaults.ts'
import { installedFileTypes } from '../../../file-types/installed.ts'
import { compileIdentification } from '../../../rating/identify.ts'

/** Available in every request, regardless of the rules. */
const ALWAYS = ['msisdn', 'imsi'] as const
/** Rules may also use these fields, although their values are shared or assigned by the node. */
const SHARED: ReadonlySet<string> = new Set(['sid', 'aid', 'type', 'plan', 'play'])

/**
 * The predefined fields, those of `rating.customerIdentification`, and those of the stored file
 * types (`customer_identification_fields`). Invalid file types are skipped.
 */
export function identifyingFields(storedFileTypes: unknown, config: Config): readonly string[] {
  const { customerIdentification, countryPrefix } = config.rating
  const own = installedFileTypes(storedFileTypes, fileTypeDefaultsOf(config)).flatMap(
    ({ fileType }) => (fileType?.rules == null ? [] : [fileType.rules.customerIdentification]),
  )
  const rules = [customerIdentification, ...own]
  const keys = rules.flatMap((rule) => compileIdentification(rule, countryPrefix).targetKeys())
  return [...new Set([...ALWAYS, ...keys])].filter((key) => !SHARED.has(key))
}
