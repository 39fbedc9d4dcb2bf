/** A configured rule that cannot be used: which field of it (dotted path) and why. */
export class RuleError extends Error {
  override name = 'RuleError'
  readonly path: string
  readonly reason: string

  constructor(path: string, reason: string) {
    super(`${path} ${reason}`)
    this.path = path
    this.reason = reason
  }
}
