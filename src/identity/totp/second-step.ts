/** Second factor at login and wherever a password is checked. */
import { about } from '../../domain/field-errors.ts'
import type { AuthDeps } from '../auth-deps.ts'
import { actorOf, auditLogin } from '../login-audit.ts'
import { AuthRefusal } from '../refusal.ts'
import type { SessionUser } from '../sessions.ts'
import type { SecondFactors } from './factors.ts'

/** The password is correct, the code is wrong. */
export const WRONG_CODE = 'the code of the second factor is wrong, or was used before'

const MISSING =
  'is missing: send it with user name and password, a code of the authenticator or a ' +
  'recovery code'

/**
 * Whether a user with the correct password has also proved the second factor; true if the user has
 * none. Rejects with `AuthRefusal` if the code is missing, which counts neither as a success nor as
 * a wrong attempt.
 */
export async function hasSecondFactor(
  deps: Pick<AuthDeps, 'audit' | 'clock' | 'log'> & { readonly factors: SecondFactors },
  user: Pick<SessionUser, 'id' | 'name'>,
  code: string | null,
  address: string,
): Promise<boolean> {
  const { factors } = deps
  if (!(await factors.state(user.id)).isEnrolled) return true
  if (code === null)
    throw new AuthRefusal(...about('totp', MISSING, 'missing'), {
      details: { totp_required: true },
    })
  const proof = await factors.prove(user.id, code)
  if (proof !== null && proof !== 'code') {
    const left = proof.recoveryCodesLeft
    deps.log.warn({ user: user.name, address, left }, 'a recovery code was used')
    await auditLogin(deps, actorOf(user, address), 'recovery_code', user.name, { left })
  }
  return proof !== null
}
