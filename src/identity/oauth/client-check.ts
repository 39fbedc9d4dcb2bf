/** Client authentication. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { ApiClient } from '../../catalog/clients/clients.ts'
import type { SecuritySettings } from '../../catalog/settings/access/security-settings.ts'
import { attemptsOf } from './attempts.ts'
import { OAuthError } from './errors.ts'
import type { OAuthDeps } from './oauth-deps.ts'
import type { OAuthParameters } from './parameters.ts'

/** Compared for an unknown client; no key has this digest. */
const DUMMY_DIGEST = randomBytes(32)

/**
 * Takes the same steps for an unknown client name. Throws `OAuthError` `invalid_client`, or 429
 * after too many failures.
 */
export async function authenticateClient(
  { keys, settings, clients, clock }: OAuthDeps,
  { clientId, clientSecret, address }: OAuthParameters,
  security: SecuritySettings,
): Promise<ApiClient> {
  if (clientId === '' || clientSecret === '') {
    throw new OAuthError('invalid_client', 'The client credentials are missing')
  }
  const attempts = attemptsOf(keys, security, clientId, address)
  await attempts.check()
  const client = (await settings.get(clients)).byName(clientId, clock.nowMs())
  const digest = createHash('sha256').update(clientSecret).digest()
  const isRight = timingSafeEqual(digest, client?.keySha256 ?? DUMMY_DIGEST)
  if (client !== null && isRight) {
    await attempts.succeeded()
    return client
  }
  await attempts.failed()
  throw new OAuthError('invalid_client', 'The client credentials are not valid')
}
