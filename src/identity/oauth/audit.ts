/** Audit entries of tokens: issued, refused, revoked; without tokens or secrets. */
import type { Actor } from '../../catalog/actor.ts'
import type { AuditEntry } from '../../catalog/audit/audit.ts'
import type { ApiClient } from '../../catalog/clients/clients.ts'
import type { TokenHolder } from '../../store/tokens.ts'
import type { OAuthError, OAuthErrorCode } from './errors.ts'
import type { TokenRequest } from './token-request.ts'

/** Rejects with `CatalogUnavailableError`; no token may be issued in that case. */
export function recordIssued(request: TokenRequest, holder: TokenHolder): Promise<void> {
  const { grant } = request
  const expires = new Date(holder.expiresMs)
  const issued = { grant, scope: holder.scope, user: holder.user?.name ?? null, expires }
  return record(request, { type: 'token', new: issued })
}

export async function recordReuse(request: TokenRequest, holder: TokenHolder): Promise<void> {
  const { deps, client, parameters } = request
  const who = { client: client?.name, address: parameters.address }
  deps.log.warn(who, 'a refresh token was used twice: all tokens of its login are revoked')
  const entry = { type: 'reuse', new: { user: holder.user?.name ?? null } }
  await quietly(request, () => record(request, entry))
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

/** An unknown client name is not recorded: it may be a secret in the wrong field. */
export async function recordRefused(request: TokenRequest, { error }: OAuthError): Promise<void> {
  if (!REFUSALS.includes(error)) return
  const { deps, client, parameters, grant } = request
  await quietly(request, async () => {
    const key = (client ?? (await namedClient(request)))?.name ?? ''
    // The actor is the authenticated client only.
    const name = client?.name ?? ''
    await deps.refusals.record({
      entry: { collection: 'oauth', type: 'refused', key, new: { error, grant } },
      actor: { by: 'token', id: name, name, address: parameters.address },
      account: key,
      reason: error,
    })
  })
}

/** The client named by the request, not authenticated. */
async function namedClient({ deps, parameters }: TokenRequest): Promise<ApiClient | null> {
  if (parameters.clientId === '') return null
  return (await deps.settings.get(deps.clients)).byName(parameters.clientId, deps.clock.nowMs())
}

/** The refusal stands even if it cannot be audited. */
async function quietly(request: TokenRequest, write: () => Promise<void>) {
  try {
    await write()
  } catch (error) {
    request.deps.log.error({ err: error }, 'the audit of a refused client cannot be written')
  }
}

function record(
  { deps, client, parameters }: TokenRequest,
  entry: Omit<AuditEntry, 'collection' | 'key'>,
): Promise<void> {
  const name = client?.name ?? ''
  const actor: Actor = { by: 'token', id: name, name, address: parameters.address }
  return deps.audit.record(actor, deps.clock.nowMs(), { collection: 'oauth', key: name, ...entry })
}
