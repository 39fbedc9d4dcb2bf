/** Fields of subscribers by which requests find them: no two have the same value at once. */
import type { Config } from '../../config/schema.ts'
import { fileTypeDefaultsOf } from '../../file-types/defaults.ts'
import { installedFileTypes } from '../../file-types/installed.ts'
import { compileIdentification } from '../../rating/identify.ts'

/** By which every request may name a subscriber, whatever the rules are. */
const ALWAYS = ['msisdn', 'imsi'] as const
/** What rules may look in, too, although many subscribers share it, or the node gives it. */
const SHARED: ReadonlySet<string> = new Set(['sid', 'aid', 'type', 'plan', 'play'])

/**
 * Those of all installations, of `rating.customerIdentification`, and of the file types that are
 * stored (`customer_identification_fields`). A stored one that cannot be used reads nothing.
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
