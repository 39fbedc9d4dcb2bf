/** A refused SAML login. The reason is for the log and quotes nothing of the message. */
export class SamlRefusedError extends Error {
  override name = 'SamlRefusedError'
  /** General reason for the answer. */
  readonly publicMessage: string

  constructor(reason: string, publicMessage = 'the login by the identity provider was refused') {
    super(reason)
    this.publicMessage = publicMessage
  }
}
