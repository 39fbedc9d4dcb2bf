/** A login by SAML that is refused. The reason is for the log, and holds nothing of the message. */
export class SamlRefusedError extends Error {
  override name = 'SamlRefusedError'
  /** In general words, for whoever sent it. */
  readonly publicMessage: string

  constructor(reason: string, told = 'the login by the identity provider was refused') {
    super(reason)
    this.publicMessage = told
  }
}
