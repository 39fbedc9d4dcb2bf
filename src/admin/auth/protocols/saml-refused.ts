/** A login by SAML that is refused. The reason is for the log, and holds nothing of the message. */
export class SamlRefusedError extends Error {
  override name = 'SamlRefusedError'
}
