/** The stored second factor of a user (TOTP, RFC 6238). */

export interface SecondFactorDocument {
  /** User id of sessions: the id of the user document, or the id from the directory. */
  _id: string
  username: string
  /** Sealed; null until one is confirmed. */
  secret: string | null
  /** Sealed: the secret of an enrolment in progress. */
  pending: string | null
  enrolled_at: Date | null
  /** SHA-256 of the unused recovery codes, in hexadecimal. */
  recovery: string[]
}
