/** What the audit has of tokens: who got them, who was refused; never a token or a secret. */
import type { Actor } from '../../../catalog/actor.ts'
import type { AuditEntry } from '../../../catalog/audit/audit.ts'
import type { TokenHolder } from '../../../store/tokens.ts'
import type { OAuthError, OAuthErrorCode } from './errors.ts'
import type { TokenRequest } from './token-request.ts'

/** Rejects with `CatalogUnavailableError`: then nothing may be issued. */
export function recordIssued(request: TokenRequest, holder: TokenHolder): Promise<void> {
  const { grant } = request
  const expires = new Date(holder.expiresMs)
  const issued = { grant, scope: holder.scope, user: holder.user?.name ?? null, expires }
  return record(request, { type: 'token', new: issued })
}

export async function recordReuse(request: TokenRequest, holder: TokenHolder): Promise<void> {
  const { deps, client, asked } = request
  const who = { client: client?.name, address: asked.address }
  deps.log.warn(who, 'a refresh token was used twice: all tokens of its login have ended')
  await quietly(request, { type: 'reuse', new: { user: holder.user?.name ?? null } })
}

export function recordRevoked(
  request: TokenRequest,
  kind: 'access' | 'refresh',
  holder: TokenHolder,
): Promise<void> {
  return record(request, { type: 'revoke', new: { kind, user: holder.user?.name ?? null } })
}

const REFUSALS: readonly OAuthErrorCode[] = [
  'invalid_client',
  'invalid_grant',
  'unauthorized_client',
]

/** Of who is nobody the name is not written: it may be a secret in the wrong field. */
export async function recordRefused(request: TokenRequest, { error }: OAuthError): Promise<void> {
  if (!REFUSALS.includes(error)) return
  const { deps, client, asked, grant } = request
  const who = { client: client?.name ?? null, address: asked.address }
  deps.log.warn({ ...who, error, grant }, 'a client was refused')
  await quietly(request, { type: 'refused', new: { error, grant } })
}

/** What is refused is refused, also where that cannot be written down. */
async function quietly(request: TokenRequest, entry: Omit<AuditEntry, 'collection' | 'key'>) {
  try {
    await record(request, entry)
  } catch (error) {
    request.deps.log.error({ err: error }, 'the audit of a refused client cannot be written')
  }
}

function record(
  { deps, client, asked }: TokenRequest,
  entry: Omit<AuditEntry, 'collection' | 'key'>,
): Promise<void> {
  const name = client?.name ?? ''
  const actor: Actor = { by: 'token', id: name, name, address: asked.address }
  return deps.audit.record(actor, deps.clock.nowMs(), { collection: 'oauth', key: name, ...entry })
}
