/** The second factor of a user (TOTP, RFC 6238), as it is stored. */

export interface SecondFactorDocument {
  /** What sessions know the user by: the id of the document, or what a directory gives. */
  _id: string
  username: string
  /** Sealed; null: none was confirmed yet. */
  secret: string | null
  /** Sealed: the secret of an enrolment that was begun. */
  pending: string | null
  enrolled_at: Date | null
  /** SHA-256 of the recovery codes that were not used yet, in hexadecimal. */
  recovery: string[]
}
