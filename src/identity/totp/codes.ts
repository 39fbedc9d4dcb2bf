/** Time-based codes (TOTP, RFC 6238): SHA-1, 6 digits, 30 seconds, as in all authenticator apps. */
import { generateSecret, generateURI, verifySync } from 'otplib'

export const STEP_SECONDS = 30
/** One step before and after, for clock skew and typing time. */
const TOLERANCE_SECONDS = STEP_SECONDS
/** Maximum time for which a code is accepted. */
export const ACCEPTED_MS = 3 * STEP_SECONDS * 1000

/** 160 random bits in base32. */
export function newSecret(): string {
  return generateSecret()
}

/** `otpauth://totp/...`, which authenticator apps read as a QR code. */
export function enrolmentUri(secret: string, username: string, issuer: string): string {
  return generateURI({ secret, label: username, issuer })
}

/** Time step of a code; null if the code is not valid now. */
export function stepOf(secret: string, code: string, nowMs: number): number | null {
  if (!/^\d{6}$/.test(code)) return null
  const epoch = Math.floor(nowMs / 1000)
  const result = verifySync({ secret, token: code, epoch, epochTolerance: TOLERANCE_SECONDS })
  return result.valid && 'timeStep' in result ? result.timeStep : null
}
