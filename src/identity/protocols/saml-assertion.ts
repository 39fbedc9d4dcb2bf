/** Content of a signed assertion, checked for recipient and time (SAML profiles 4.1.4.2). */
import type { SamlSettings } from '../../catalog/settings/access/auth-schema.ts'
import { ASSERTION } from './saml-envelope.ts'
import { SamlRefusedError } from './saml-refused.ts'
import { childrenOf, type XmlElement } from './xml-tree.ts'

export interface SamlAttributes {
  readonly assertionId: string
  readonly username: string
  /** Values of the attribute that determines roles. */
  readonly roleValues: readonly string[]
  /** The assertion is invalid after this time. */
  readonly endMs: number
}

const BEARER = 'urn:oasis:names:tc:SAML:2.0:cm:bearer'
const CONDITIONS: readonly string[] = ['AudienceRestriction', 'OneTimeUse', 'ProxyRestriction']
const USERNAME_CHARACTERS_MAX = 256
const DATE_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/

/**
 * Reads the signed assertion. `inResponseTo`: id of the request that it must answer; null if
 * unsolicited. Throws `SamlRefusedError`.
 */
export function claimsOf(
  assertion: XmlElement,
  inResponseTo: string | null,
  settings: SamlSettings,
  nowMs: number,
): SamlAttributes {
  if (assertion.name !== 'Assertion' || assertion.namespace !== ASSERTION) {
    throw new SamlRefusedError('the signed element is not an assertion')
  }
  const assertionId = assertion.attributes.get('ID') ?? ''
  if (assertionId === '') throw new SamlRefusedError('the assertion has no id')
  const issuer = only(assertion, 'Issuer').text.trim()
  if (settings.idp_issuer !== undefined && issuer !== settings.idp_issuer) {
    throw new SamlRefusedError('it has another issuer')
  }
  const subject = only(assertion, 'Subject')
  const validity = validityCheckAt(nowMs, settings.clock_skew_ms)
  const endMs = confirmedUntil(subject, inResponseTo, settings, validity)
  checkConditions(only(assertion, 'Conditions'), settings, validity)
  checkStatements(assertion, validity)
  const attributes = attributesOf(assertion)
  const { username_attribute: usernameAttribute, roles } = settings
  const names =
    usernameAttribute === 'nameID'
      ? childrenOf(subject, ASSERTION, 'NameID').map(textOf)
      : (attributes.get(usernameAttribute) ?? [])
  const [username = ''] = names
  // Control characters could forge log and audit output.
  const isUsable = username.length <= USERNAME_CHARACTERS_MAX && /^[^\p{Cc}]+$/u.test(username)
  if (names.length !== 1 || !isUsable) throw new SamlRefusedError('it names no user')
  return { assertionId, username, roleValues: attributes.get(roles.attribute) ?? [], endMs }
}

interface ValidityCheck {
  hasBegun(text: string | undefined): boolean
  hasEnded(text: string | undefined): boolean
  endMs(text: string): number
}

/** Compares times of the assertion, with tolerance for clock skew. */
function validityCheckAt(nowMs: number, skewMs: number): ValidityCheck {
  const endMs = (text: string) => timeMs(text) + skewMs
  return {
    endMs,
    hasBegun: (text) => text === undefined || timeMs(text) <= nowMs + skewMs,
    hasEnded: (text) => text !== undefined && endMs(text) <= nowMs,
  }
}

function timeMs(text: string): number {
  const ms = DATE_TIME.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(ms)) throw new SamlRefusedError('a time in it is malformed')
  return ms
}

/** End of validity of a bearer confirmation for this recipient and request. */
function confirmedUntil(
  subject: XmlElement,
  inResponseTo: string | null,
  { callback_url: recipient }: SamlSettings,
  validity: ValidityCheck,
): number {
  const reasons = ['it has no bearer confirmation']
  for (const confirmation of childrenOf(subject, ASSERTION, 'SubjectConfirmation')) {
    if (confirmation.attributes.get('Method') !== BEARER) continue
    const [data] = childrenOf(confirmation, ASSERTION, 'SubjectConfirmationData')
    const end = data?.attributes.get('NotOnOrAfter')
    if (data === undefined || end === undefined) reasons.push('its confirmation has no end')
    else if (validity.hasEnded(end)) reasons.push('it has expired')
    else if (!validity.hasBegun(data.attributes.get('NotBefore')))
      reasons.push('it is not valid yet')
    else if (data.attributes.get('Recipient') !== recipient) {
      reasons.push('it is for another recipient')
    } else if ((data.attributes.get('InResponseTo') ?? null) !== inResponseTo) {
      reasons.push('it answers another request')
    } else return validity.endMs(end)
  }
  throw new SamlRefusedError(reasons.at(-1) ?? '')
}

function checkConditions(
  conditions: XmlElement,
  settings: SamlSettings,
  validity: ValidityCheck,
): void {
  const { attributes, children } = conditions
  if (validity.hasEnded(attributes.get('NotOnOrAfter')))
    throw new SamlRefusedError('it has expired')
  if (!validity.hasBegun(attributes.get('NotBefore'))) {
    throw new SamlRefusedError('it is not valid yet')
  }
  const isKnown = ({ name, namespace }: XmlElement) =>
    namespace === ASSERTION && CONDITIONS.includes(name)
  if (!children.every(isKnown)) throw new SamlRefusedError('it has an unknown condition')
  const { audience = settings.issuer } = settings
  const restrictions = childrenOf(conditions, ASSERTION, 'AudienceRestriction')
  const isForUs = (restriction: XmlElement) =>
    childrenOf(restriction, ASSERTION, 'Audience').some((each) => textOf(each) === audience)
  if (restrictions.length === 0 || !restrictions.every(isForUs)) {
    throw new SamlRefusedError('it is for another audience')
  }
}

function checkStatements(assertion: XmlElement, validity: ValidityCheck): void {
  const statements = childrenOf(assertion, ASSERTION, 'AuthnStatement')
  if (statements.length === 0) throw new SamlRefusedError('it has no authentication statement')
  const hasEnded = statements.some(({ attributes }) =>
    validity.hasEnded(attributes.get('SessionNotOnOrAfter')),
  )
  if (hasEnded) throw new SamlRefusedError('the session of the provider has ended')
}

/** Values by attribute name; attributes of the same name are merged. */
function attributesOf(assertion: XmlElement): Map<string, string[]> {
  const found = new Map<string, string[]>()
  for (const statement of childrenOf(assertion, ASSERTION, 'AttributeStatement')) {
    for (const attribute of childrenOf(statement, ASSERTION, 'Attribute')) {
      const name = attribute.attributes.get('Name') ?? ''
      const values = childrenOf(attribute, ASSERTION, 'AttributeValue').map(textOf)
      found.set(name, [...(found.get(name) ?? []), ...values])
    }
  }
  return found
}

/** Text of an element without child elements. */
function textOf({ text, children }: XmlElement): string {
  if (children.length > 0) throw new SamlRefusedError('there are elements in place of a text')
  return text.trim()
}

function only(element: XmlElement, name: string): XmlElement {
  const found = childrenOf(element, ASSERTION, name)
  const [first] = found
  if (first !== undefined && found.length === 1) return first
  throw new SamlRefusedError(`it must have exactly one ${name}`)
}
