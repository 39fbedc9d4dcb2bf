/**
 * Structural checks of a SAML response before its signatures are verified. Signature wrapping
 * attacks need a second assertion, a misplaced signature, a duplicate id or a broken algorithm.
 */
import { SamlRefusedError } from './saml-refused.ts'
import { childrenOf, elementsIn, type XmlElement } from './xml-tree.ts'

export const PROTOCOL = 'urn:oasis:names:tc:SAML:2.0:protocol'
export const ASSERTION = 'urn:oasis:names:tc:SAML:2.0:assertion'
const DSIG = 'http://www.w3.org/2000/09/xmldsig#'
const EXCLUSIVE = 'http://www.w3.org/2001/10/xml-exc-c14n#'
const SUCCESS = 'urn:oasis:names:tc:SAML:2.0:status:Success'

export interface SamlEnvelope {
  readonly isResponseSigned: boolean
  readonly isAssertionSigned: boolean
  /** Attribute of the response, which may be unsigned; the assertion must have the same value. */
  readonly inResponseTo: string | null
  readonly destination: string | null
}

/** Allowed algorithms by element: SHA-256 or better. */
const ALGORITHMS: Readonly<Record<string, readonly string[]>> = {
  SignatureMethod: [
    'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
    'http://www.w3.org/2001/04/xmldsig-more#rsa-sha512',
    'http://www.w3.org/2007/05/xmldsig-more#sha256-rsa-MGF1',
  ],
  DigestMethod: [
    'http://www.w3.org/2001/04/xmlenc#sha256',
    'http://www.w3.org/2001/04/xmlenc#sha512',
  ],
  CanonicalizationMethod: [EXCLUSIVE],
  Transform: [`${DSIG}enveloped-signature`, EXCLUSIVE],
}

/** Throws `SamlRefusedError`. */
export function checkEnvelope(response: XmlElement): SamlEnvelope {
  const all = [...elementsIn(response)]
  const named = (name: string) => all.filter((element) => element.name === name)
  if (response.name !== 'Response' || response.namespace !== PROTOCOL)
    refuse('it is not a response')
  if (named('Response').length > 1) refuse('it contains another response')
  if (response.attributes.get('Version') !== '2.0') refuse('it is not SAML 2.0')
  checkStatus(response)
  if (all.some(({ name }) => name.startsWith('Encrypted'))) refuse('it is encrypted')
  const [assertion] = childrenOf(response, ASSERTION, 'Assertion')
  if (assertion === undefined) refuse('it has no assertion')
  if (named('Assertion').length !== 1) refuse('there is more than one assertion')
  checkIds(all)
  for (const [name, allowed] of Object.entries(ALGORITHMS)) {
    const isAllowed = ({ attributes }: XmlElement) =>
      allowed.includes(attributes.get('Algorithm') ?? '')
    if (!named(name).every(isAllowed)) refuse('an algorithm of its signature is not allowed')
  }
  const isResponseSigned = isSigned(response)
  const isAssertionSigned = isSigned(assertion)
  const signatures = Number(isResponseSigned) + Number(isAssertionSigned)
  if (named('Signature').length !== signatures) refuse('it has a misplaced signature')
  return {
    isResponseSigned,
    isAssertionSigned,
    inResponseTo: response.attributes.get('InResponseTo') ?? null,
    destination: response.attributes.get('Destination') ?? null,
  }
}

function checkStatus(response: XmlElement): void {
  const [status] = childrenOf(response, PROTOCOL, 'Status')
  const [code] = status === undefined ? [] : childrenOf(status, PROTOCOL, 'StatusCode')
  if (code?.attributes.get('Value') !== SUCCESS) refuse('the provider did not log the user in')
}

/** Ids must be unique, however the attribute is spelled. */
function checkIds(all: readonly XmlElement[]): void {
  const seen = new Set<string>()
  for (const { attributes } of all) {
    for (const [name, value] of attributes) {
      if (!/^([^:]+:)?id$/i.test(name)) continue
      if (seen.has(value)) refuse('it has a duplicate id')
      seen.add(value)
    }
  }
}

/** Whether the element is signed. A signature must cover exactly this element. */
function isSigned(element: XmlElement): boolean {
  const signatures = element.children.filter(({ name }) => name === 'Signature')
  const [signature] = signatures
  if (signature === undefined) return false
  const names = signature.children.map(({ name }) => name).join(' ')
  const [info] = childrenOf(signature, DSIG, 'SignedInfo')
  const parts = info?.children.map(({ name }) => name).join(' ')
  const [reference] = info === undefined ? [] : childrenOf(info, DSIG, 'Reference')
  const id = element.attributes.get('ID') ?? ''
  const isPlain =
    signatures.length === 1 &&
    signature.namespace === DSIG &&
    /^SignedInfo SignatureValue( KeyInfo)?$/.test(names) &&
    parts === 'CanonicalizationMethod SignatureMethod Reference' &&
    /^[A-Za-z_][\w.-]*$/.test(id) &&
    reference?.attributes.get('URI') === `#${id}`
  if (!isPlain) refuse('a signature does not cover the element that contains it')
  return true
}

function refuse(reason: string): never {
  throw new SamlRefusedError(reason)
}
