/** Validity of an access token and the roles it grants. */
import { ADMIN } from '../caller.ts'
import type { ClientIdentity, TokenCheck } from '../checks.ts'
import type { OAuthDeps } from './oauth-deps.ts'

type Deps = Pick<OAuthDeps, 'tokens' | 'settings' | 'clients' | 'users' | 'clock'>

export function createTokenCheck({ tokens, settings, clients, users, clock }: Deps): TokenCheck {
  return async (token): Promise<ClientIdentity | null> => {
    const holder = await tokens.access.find(token)
    const nowMs = clock.nowMs()
    if (holder === null || holder.expiresMs <= nowMs) return null
    const client = (await settings.get(clients)).byName(holder.client, nowMs)
    if (client === null || client.fingerprint !== holder.fingerprint) return null
    const { name, roles } = client
    if (holder.user === null) return { name, roles }
    const user = await users(holder.user.id)
    if (user === null || user.mustChangePassword || user.mustEnrolTotp) return null
    if (user.passwordMark !== holder.user.passwordMark) return null
    const { id, name: userName } = user
    return { name, roles: commonRoles(roles, user.roles), user: { id, name: userName } }
  }
}

/** Roles that both have; `admin` includes all roles. */
export function commonRoles(some: readonly string[], others: readonly string[]): readonly string[] {
  if (some.includes(ADMIN)) return others
  if (others.includes(ADMIN)) return some
  return some.filter((role) => others.includes(role))
}
