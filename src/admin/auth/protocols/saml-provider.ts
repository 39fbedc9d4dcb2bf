/** An identity provider, by node-saml: requests to it, and what it has signed. */
import { SAML, ValidateInResponseTo } from '@node-saml/node-saml'
import { pemOf } from '../../../catalog/settings/auth-rules.ts'
import type { SamlSettings } from '../../../catalog/settings/auth-settings.ts'
import type { SamlEnvelope } from './saml-envelope.ts'
import { SamlRefusedError } from './saml-refused.ts'
import { readXml, type XmlElement } from './xml-tree.ts'

type Signed = Pick<SamlEnvelope, 'isResponseSigned' | 'isAssertionSigned'>

/** Where the browser goes to log in, with a request of this id. */
export function requestUrl(settings: SamlSettings, requestId: string): Promise<string> {
  return libraryFor(settings, requestId).getAuthorizeUrlAsync('', undefined, {})
}

/** What the provider has to know of us (SAML metadata). */
export function metadataOf(settings: SamlSettings): string {
  return libraryFor(settings).generateServiceProviderMetadata(null, null)
}

/**
 * The assertion of a response, as it was signed: made of what the signature covers, not of what
 * was sent. Every signature that is there must be good, and those that the settings want must be
 * there. Throws `SamlRefusedError`.
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
  const library = libraryFor(settings, undefined, signed)
  const validated = await library.validatePostResponseAsync({ SAMLResponse }).catch(() => null)
  const xml = validated?.profile?.getAssertionXml?.()
  // The reasons of the library quote the message.
  if (xml === undefined) throw new SamlRefusedError('its signature is not good')
  return readXml(xml)
}

function libraryFor(settings: SamlSettings, requestId?: string, signed?: Signed): SAML {
  const { entry_point: entryPoint, issuer, callback_url: callbackUrl } = settings
  return new SAML({
    entryPoint,
    issuer,
    callbackUrl,
    idpCert: settings.idp_certs.map((cert) => pemOf(cert) ?? ''),
    identifierFormat: settings.name_id_format ?? null,
    // How somebody logs in is the provider's business: many have more than passwords.
    disableRequestedAuthnContext: true,
    wantAssertionsSigned: settings.want_assertions_signed || signed?.isAssertionSigned === true,
    wantAuthnResponseSigned: settings.want_response_signed || signed?.isResponseSigned === true,
    ...(requestId === undefined ? {} : { generateUniqueId: () => requestId }),
    // Times, audience and requests are checked where the clock and the store are ours.
    acceptedClockSkewMs: -1,
    audience: false,
    validateInResponseTo: ValidateInResponseTo.never,
  })
}
