/** An identity provider for tests, which creates and signs SAML responses. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inflateRawSync } from 'node:zlib'
import { SignedXml } from 'xml-crypto'

export interface KeyPair {
  readonly key: string
  /** PEM, self-signed. */
  readonly cert: string
}

/** Needs openssl. */
export function newKeyPair(name: string): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'tg-saml-'))
  const [keyFile, certFile] = [join(folder, 'key'), join(folder, 'cert')]
  try {
    const options = ['-newkey', 'rsa:2048', '-nodes', '-days', '3650', '-subj', `/CN=${name}`]
    const files = ['-keyout', keyFile, '-out', certFile]
    execFileSync('openssl', ['req', '-x509', ...options, ...files], { stdio: 'pipe' })
    return { key: readFileSync(keyFile, 'utf8'), cert: readFileSync(certFile, 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export const OUR_ID = 'https://tollgate.example.net'
export const IDP_ID = 'https://idp.example.net/realms/corp'
export const CALLBACK = 'https://tollgate.example.net/auth/saml/corp/acs'

/** Content of an assertion; omitted members are valid. */
export interface AssertionContent {
  nowMs: number
  /** Null if unsolicited. */
  inResponseTo: string | null
  nameId?: string
  roles?: readonly string[]
  audience?: string
  recipient?: string
  destination?: string
  issuer?: string
  confirmedFor?: string | null
  notBeforeMs?: number
  notOnOrAfterMs?: number
  assertionId?: string
  status?: string
}

const NAMESPACES =
  'xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol" ' +
  'xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"'

let created = 0

export function assertionXml(content: AssertionContent): string {
  created += 1
  const { nowMs, roles = ['staff'], inResponseTo, audience = OUR_ID, issuer = IDP_ID } = content
  const { nameId = 'ada@example.net', recipient = CALLBACK } = content
  const { assertionId = `_a${created}`, confirmedFor = inResponseTo } = content
  const at = (ms: number) => new Date(ms).toISOString()
  const begin = at(content.notBeforeMs ?? nowMs - 1000)
  const end = at(content.notOnOrAfterMs ?? nowMs + 300_000)
  const answering = confirmedFor === null ? '' : ` InResponseTo="${confirmedFor}"`
  const values = roles.map((role) => `<saml:AttributeValue>${role}</saml:AttributeValue>`).join('')
  return [
    `<saml:Assertion xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion" ID="${assertionId}"`,
    ` Version="2.0" IssueInstant="${at(nowMs)}"><saml:Issuer>${issuer}</saml:Issuer>`,
    `<saml:Subject><saml:NameID>${nameId}</saml:NameID>`,
    '<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer">',
    `<saml:SubjectConfirmationData${answering} NotOnOrAfter="${end}" Recipient="${recipient}"/>`,
    '</saml:SubjectConfirmation></saml:Subject>',
    `<saml:Conditions NotBefore="${begin}" NotOnOrAfter="${end}"><saml:AudienceRestriction>`,
    `<saml:Audience>${audience}</saml:Audience></saml:AudienceRestriction></saml:Conditions>`,
    `<saml:AuthnStatement AuthnInstant="${at(nowMs)}"><saml:AuthnContext>`,
    '<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password',
    '</saml:AuthnContextClassRef></saml:AuthnContext></saml:AuthnStatement>',
    `<saml:AttributeStatement><saml:Attribute Name="Role">${values}</saml:Attribute>`,
    '</saml:AttributeStatement></saml:Assertion>',
  ].join('')
}

/** A response around an assertion, signed or not. */
export function responseXml(content: AssertionContent, assertion: string): string {
  created += 1
  const { nowMs, inResponseTo, destination = CALLBACK, status = 'Success' } = content
  const answering = inResponseTo === null ? '' : ` InResponseTo="${inResponseTo}"`
  return [
    `<samlp:Response ${NAMESPACES} ID="_r${created}" Version="2.0"`,
    ` IssueInstant="${new Date(nowMs).toISOString()}" Destination="${destination}"${answering}>`,
    `<saml:Issuer>${IDP_ID}</saml:Issuer><samlp:Status>`,
    `<samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:${status}"/></samlp:Status>`,
    `${assertion}</samlp:Response>`,
  ].join('')
}

const SHA256 = {
  signature: 'http://www.w3.org/2001/04/xmldsig-more#rsa-sha256',
  digest: 'http://www.w3.org/2001/04/xmlenc#sha256',
}
export const SHA1 = {
  signature: 'http://www.w3.org/2000/09/xmldsig#rsa-sha1',
  digest: 'http://www.w3.org/2000/09/xmldsig#sha1',
}

/** Signs the assertion or the response of a document; includes the key, as providers do. */
export function signed(
  xml: string,
  what: 'Assertion' | 'Response',
  { key, cert }: KeyPair,
  algorithms = SHA256,
): string {
  const path = `//*[local-name(.)='${what}']`
  const signature = new SignedXml({
    privateKey: key,
    publicCert: cert,
    signatureAlgorithm: algorithms.signature,
    canonicalizationAlgorithm: 'http://www.w3.org/2001/10/xml-exc-c14n#',
  })
  signature.addReference({
    xpath: path,
    transforms: [
      'http://www.w3.org/2000/09/xmldsig#enveloped-signature',
      'http://www.w3.org/2001/10/xml-exc-c14n#',
    ],
    digestAlgorithm: algorithms.digest,
  })
  const after = `${path}/*[local-name(.)='Issuer']`
  signature.computeSignature(xml, { location: { reference: after, action: 'after' } })
  return signature.getSignedXml()
}

/** A response as this provider creates it, with a signed assertion. */
export function answer(content: AssertionContent, pair: KeyPair): string {
  return responseXml(content, signed(assertionXml(content), 'Assertion', pair))
}

/** Id and XML of the request in an address of the provider. */
export function requestIn(url: string): { id: string; xml: string } {
  const sent = new URL(url).searchParams.get('SAMLRequest') ?? ''
  const xml = inflateRawSync(Buffer.from(sent, 'base64')).toString('utf8')
  return { id: /\sID="([^"]+)"/.exec(xml)?.[1] ?? '', xml }
}
