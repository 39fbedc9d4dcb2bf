/** Identity provider, by node-saml: authentication requests and signature verification. */
import type { SAML } from '@node-saml/node-saml'
import { pemOf } from '../../catalog/settings/access/auth-rules.ts'
import type { SamlSettings } from '../../catalog/settings/access/auth-schema.ts'
import type { SamlEnvelope } from './saml-envelope.ts'
import { SamlRefusedError } from './saml-refused.ts'
import { readXml, type XmlElement } from './xml-tree.ts'

type Signed = Pick<SamlEnvelope, 'isResponseSigned' | 'isAssertionSigned'>

/** URL of the provider with an authentication request of this id. */
export async function requestUrl(settings: SamlSettings, requestId: string): Promise<string> {
  const library = await libraryFor(settings, requestId)
  return library.getAuthorizeUrlAsync('', undefined, {})
}

/** Metadata of this service provider for the identity provider (SAML metadata). */
export async function metadataOf(settings: SamlSettings): Promise<string> {
  return (await libraryFor(settings)).generateServiceProviderMetadata(null, null)
}

/**
 * Returns the signed assertion, parsed from the bytes that the signature covers. Every signature
 * present must be valid, and those required by the settings must be present. Throws
 * `SamlRefusedError`.
 */
export async function signedAssertion(
  settings: SamlSettings,
  response: string,
  signed: Signed,
): Promise<XmlElement> {
  if (!signed.isResponseSigned && !signed.isAssertionSigned) {
    throw new SamlRefusedError('it is not signed')
  }
  const SAMLResponse = Buffer.from(response, 'utf8').toString('base64')
  const library = await libraryFor(settings, undefined, signed)
  const validated = await library.validatePostResponseAsync({ SAMLResponse }).catch(() => null)
  const xml = validated?.profile?.getAssertionXml?.()
  // The library's errors quote the message.
  if (xml === undefined) throw new SamlRefusedError('its signature is invalid')
  return readXml(xml)
}

async function libraryFor(
  settings: SamlSettings,
  requestId?: string,
  signed?: Signed,
): Promise<SAML> {
  // Loaded by the first login of this kind: it is an eighth of the start of the control plane.
  const { SAML, ValidateInResponseTo } = await import('@node-saml/node-saml')
  const { entry_point: entryPoint, issuer, callback_url: callbackUrl } = settings
  return new SAML({
    entryPoint,
    issuer,
    callbackUrl,
    idpCert: settings.idp_certs.map((cert) => pemOf(cert) ?? ''),
    identifierFormat: settings.name_id_format ?? null,
    // The authentication method is left to the provider: many use more than passwords.
    disableRequestedAuthnContext: true,
    wantAssertionsSigned: settings.want_assertions_signed || signed?.isAssertionSigned === true,
    wantAuthnResponseSigned: settings.want_response_signed || signed?.isResponseSigned === true,
    ...(requestId === undefined ? {} : { generateUniqueId: () => requestId }),
    // Times, audience and request ids are checked by this project, with its own clock and store.
    acceptedClockSkewMs: -1,
    audience: false,
    validateInResponseTo: ValidateInResponseTo.never,
  })
}
