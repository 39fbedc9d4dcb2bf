/** How the gate finds out who calls; each way is a function of its own. */
import type { SentParameters } from '../entities/requests/raw-parameters.ts'

/** A client of machines: by token, or by signature. */
export interface ClientIdentity {
  readonly name: string
  readonly roles: readonly string[]
  /** Of a token that the password of a user gave: for whom the client acts. */
  readonly user?: { readonly id: string; readonly name: string }
}

/** Null: unknown, ended or revoked. Rejects where a store is away. */
export type TokenCheck = (token: string) => Promise<ClientIdentity | null>

/**
 * `absent`: the request is not signed. A refusal says why, for the log and the caller; it holds no
 * secret. A signature that is good is used up.
 */
export type SignatureCheck = (
  sent: SentParameters,
) => Promise<ClientIdentity | 'absent' | { readonly refused: string }>

/** Of a user of the users collection. */
export interface CurrentUser {
  readonly id: string
  readonly name: string
  readonly roles: readonly string[]
  readonly mustChangePassword: boolean
  /** A role of the user asks for a second factor, and there is none. */
  readonly mustEnrolTotp: boolean
  /** Never changed since it was generated. */
  readonly hasGeneratedPassword: boolean
  /** Another one with each change of the password: sessions that began with the old one end. */
  readonly passwordMark: string
}

/** As it is now, or half a second ago; null: deleted. */
export type UserCheck = (id: string) => Promise<CurrentUser | null>
