/** Model for the OAuth library, for one request: clients, users and tokens. */
import OAuth2Server from '@node-oauth/oauth2-server'
import { newFamily, type TokenHolder } from '../../store/tokens.ts'
import { recordIssued, recordReuse } from './audit.ts'
import { authenticateClient } from './client-check.ts'
import { OAuthError, tooManyRequests } from './errors.ts'
import type { TokenRequest } from './token-request.ts'

export const GLOBAL_SCOPE = 'global'

type Model = OAuth2Server.ClientCredentialsModel &
  OAuth2Server.PasswordModel &
  OAuth2Server.RefreshTokenModel

/** Holder of a token, as the library passes it between the model's functions. */
type TokenUser = Pick<TokenHolder, 'user' | 'family' | 'grant'>

/**
 * The library wraps errors of the model in its own. Expiry times are computed here because the
 * library only uses the wall clock.
 */
export function tokenModel(request: TokenRequest): Model {
  return {
    getClient: () => findClient(request),
    async getUserFromClient() {
      return { user: null, family: null, grant: request.grant } satisfies TokenUser
    },
    getUser: () => findUser(request),
    validateScope: async (_user, _client, scope = []) =>
      scope.every((each) => each === GLOBAL_SCOPE) && scope.length <= 1 ? scope : null,
    getRefreshToken: (token) => findRefresh(request, token),
    revokeToken: (token) => claimRefresh(request, token.refreshToken),
    saveToken: (token, client, user) => issue(request, token, client, user as TokenUser),
    // Only for authenticating requests by token, which token-check.ts does.
    getAccessToken: async () => null,
  }
}

async function findClient(request: TokenRequest): Promise<OAuth2Server.Client> {
  const { deps, parameters, security } = request
  const client = await authenticateClient(deps, parameters, security)
  request.client = client
  return { id: client.name, grants: [...client.grants] }
}

const WRONG_PASSWORD = 'The user name or the password is wrong'
const MUST_CHANGE = 'The user has to log in and change the password first'
const MUST_ENROL = 'The user has to log in and set up a second factor first'

/** Reads the password from the request: the library rejects some passwords that users may have. */
async function findUser({ deps, parameters, grant, client }: TokenRequest): Promise<TokenUser> {
  const username = parameters.text('username') ?? ''
  const { address } = parameters
  const from = { client: client?.name ?? '', address, totp: parameters.text('totp') }
  const found = await deps.verifyUser(username, parameters.text('password') ?? '', from)
  if (found === null) throw refusedUser(WRONG_PASSWORD)
  if ('retryAfterS' in found) {
    throw tooManyRequests('Too many wrong passwords: wait', found.retryAfterS * 1000)
  }
  if ('refused' in found) throw refusedUser(found.refused)
  const now = await deps.users(found.id)
  if (now === null) throw refusedUser(WRONG_PASSWORD)
  if (now.mustChangePassword) throw refusedUser(MUST_CHANGE)
  if (now.mustEnrolTotp) throw refusedUser(MUST_ENROL)
  const { id, name, passwordMark } = now
  return { user: { id, name, passwordMark }, family: newFamily(), grant }
}

function refusedUser(message: string): OAuthError {
  return new OAuthError('invalid_grant', message, { httpStatus: 401 })
}

/** Checks everything that could refuse the token before it is consumed. */
async function findRefresh(
  { deps, parameters, client }: TokenRequest,
  token: string,
): Promise<OAuth2Server.RefreshToken | null> {
  const holder = await deps.tokens.refresh.find(token)
  if (holder === null || holder.user === null || holder.expiresMs <= deps.clock.nowMs()) return null
  if (holder.client === client?.name && holder.fingerprint !== client.fingerprint) return null
  const now = await deps.users(holder.user.id)
  if (now === null || now.mustChangePassword || now.mustEnrolTotp) return null
  if (now.passwordMark !== holder.user.passwordMark) return null
  const requested = parameters.text('scope')
  if (requested !== null && requested !== holder.scope) {
    throw new OAuth2Server.InvalidScopeError('not that of the token')
  }
  const { user, family, grant, scope } = holder
  return {
    refreshToken: token,
    scope: scope === null ? [] : [scope],
    client: { id: holder.client, grants: [] },
    user: { user, family, grant } satisfies TokenUser,
  }
}

async function claimRefresh(request: TokenRequest, token: string): Promise<boolean> {
  const { deps, security } = request
  const holder = await deps.tokens.refresh.find(token)
  if (holder === null) return false
  const leftMs = Math.max(
    holder.expiresMs - deps.clock.nowMs(),
    security.oauth.refresh_token_seconds * 1000,
  )
  if (await deps.tokens.claim(token, leftMs)) return true
  if (holder.family !== null) await deps.tokens.endFamily(holder.family)
  await recordReuse(request, holder)
  return false
}

async function issue(
  request: TokenRequest,
  token: OAuth2Server.Token,
  client: OAuth2Server.Client,
  tokenUser: TokenUser,
): Promise<OAuth2Server.Token> {
  const { deps, security, grant, parameters } = request
  const { access_token_seconds: seconds, refresh_token_seconds: refreshSeconds } = security.oauth
  const scope = token.scope?.[0] ?? null
  const nowMs = deps.clock.nowMs()
  const identity = { client: client.id, fingerprint: request.client?.fingerprint ?? '' }
  const holder = (lifeS: number): TokenHolder => {
    return { ...identity, ...tokenUser, scope, expiresMs: nowMs + lifeS * 1000 }
  }
  try {
    await recordIssued(request, holder(seconds))
  } catch (error) {
    const used = grant === 'refresh_token' ? parameters.text('refresh_token') : null
    if (used !== null) await deps.tokens.release(used)
    throw error
  }
  const accessToken = await deps.tokens.access.issue(holder(seconds), seconds * 1000)
  const isLasting = tokenUser.user !== null && mayRefresh(request)
  const refreshToken = isLasting
    ? await deps.tokens.refresh.issue(holder(refreshSeconds), refreshSeconds * 1000)
    : null
  const scopes = scope === null ? {} : { scope: [scope] }
  const refresh = refreshToken === null ? {} : { refreshToken }
  return { accessToken, ...refresh, ...scopes, client, user: tokenUser }
}

function mayRefresh({ client, security }: TokenRequest): boolean {
  const isEnabled = security.oauth.grants.includes('refresh_token')
  return isEnabled && client?.grants.includes('refresh_token') === true
}
