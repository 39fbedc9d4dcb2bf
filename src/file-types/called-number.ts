/** The called number of a service: as it is written, or as a URI has it. */
import { isUnset, oneOfAt } from '../domain/fields.ts'
import { type DecodeErrors, NUMBER_CHARS_MAX, TEXT_CHARS_MAX } from './decode-errors.ts'
import { firstPathAt, type Scope } from './paths.ts'
import type { LocatedValue } from './realtime-section.ts'

/** Empty if the message has none. */
export type CalledNumber = (scope: Scope, findings: DecodeErrors) => string

/** Compiles a path, or several of which the first counts, and `format`: text (default) or uri. */
export function compileCalledNumber(
  field: LocatedValue,
  format: LocatedValue,
): CalledNumber | null {
  const isUri =
    !isUnset(format.value) && oneOfAt(format.value, format.path, ['text', 'uri']) === 'uri'
  if (isUnset(field.value)) return null
  const path = firstPathAt(field.value, field.path)
  const { name, read } = path
  if (!isUri) return (scope, findings) => findings.text(read(scope), name, NUMBER_CHARS_MAX)
  return (scope, findings) => {
    const number = numberOfUri(findings.text(read(scope), name, TEXT_CHARS_MAX))
    return findings.text(number, name, NUMBER_CHARS_MAX)
  }
}

const SCHEMES = ['tel:', 'sip:', 'sips:']
/** Signs that only make a number readable (RFC 3966 section 5.1.1). */
const SEPARATORS = '-.()'

/** `tel:+44-20-1234`, `sip:+44201234@example.org;user=phone`; other texts are as they are. */
function numberOfUri(text: string): string {
  const scheme = SCHEMES.find((each) => text.slice(0, each.length).toLowerCase() === each)
  if (scheme === undefined) return text
  let number = ''
  for (const sign of text.slice(scheme.length)) {
    if (sign === '@' || sign === ';') break
    if (scheme !== 'tel:' || !SEPARATORS.includes(sign)) number += sign
  }
  return number
}
