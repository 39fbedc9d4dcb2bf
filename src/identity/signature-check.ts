/** Checks signed requests against the current clients and settings. */
import { SECURITY } from '../catalog/settings/access/security-settings.ts'
import {
  checkSignature,
  type SignatureConditions,
  type Signer,
} from '../catalog/signature/check-signature.ts'
import { signatureParameter } from '../catalog/signature/signed-text.ts'
import type { AuthDeps } from './auth-deps.ts'
import type { SignatureCheck } from './checks.ts'

export interface Signers {
  /** Clients whose keys are valid at this time. */
  signers(nowMs: number): readonly Signer[]
}

export interface SignatureCheckOptions extends Pick<AuthDeps, 'keys' | 'settings' | 'clock'> {
  /** Current clients. Rejects with `CatalogUnavailableError`. */
  readonly clients: () => Promise<Signers>
}

/** Limits the work per request to about 30 ms. */
const WORK_BYTES_MAX = 16 * 1024 * 1024

const SECOND_MS = 1000

const NOT_HERE = { refused: 'signatures are switched off (security.signature.enabled)' }

/** Rejects if a store is unavailable: used signatures could not be remembered. */
export function createSignatureCheck(options: SignatureCheckOptions): SignatureCheck {
  const { clients, keys, settings, clock } = options
  return async (parameters) => {
    if (signatureParameter(parameters) === null) return 'absent'
    const { signature } = await settings.get(SECURITY)
    if (!signature.enabled) return NOT_HERE
    const known = await clients()
    const nowMs = clock.nowMs()
    const terms: SignatureConditions = {
      signers: known.signers(nowMs),
      nowMs,
      windowMs: signature.window_seconds * SECOND_MS,
      workBytesMax: WORK_BYTES_MAX,
    }
    const found = await checkSignature(parameters, terms, keys)
    return 'refused' in found ? found : { name: found.name, roles: found.roles }
  }
}
