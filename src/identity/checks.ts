/** Authentication methods of the guard, one function each. */
import type { OrderedParameters } from '../requests/raw-parameters.ts'

/** An API client, authenticated by token or signature. */
export interface ClientIdentity {
  readonly name: string
  readonly roles: readonly string[]
  /** Set for a token of the password grant: the user for whom the client acts. */
  readonly user?: { readonly id: string; readonly name: string }
}

/** Null if the token is unknown, expired or revoked. Rejects if a store is unavailable. */
export type TokenCheck = (token: string) => Promise<ClientIdentity | null>

/**
 * `absent` if the request is not signed. A refusal has a reason for the log and the caller, without
 * secrets. A valid signature is consumed.
 */
export type SignatureCheck = (
  parameters: OrderedParameters,
) => Promise<ClientIdentity | 'absent' | { readonly refused: string }>

/** Current state of a user in the users collection. */
export interface CurrentUser {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
  readonly mustChangePassword: boolean
  /** A role of the user requires a second factor, and the user has none. */
  readonly mustEnrolTotp: boolean
  /** The password has not been changed since it was generated. */
  readonly hasGeneratedPassword: boolean
  /** Changes with each password change: sessions opened with the old password end. */
  readonly passwordMark: string
}

/** Current user, cached for at most half a second; null if deleted. */
export type UserCheck = (id: string) => Promise<CurrentUser | null>
