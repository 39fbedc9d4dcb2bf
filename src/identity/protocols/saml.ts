/** Login by SAML 2.0 (web browser SSO), independent of HTTP. */
import { createHash, randomBytes } from 'node:crypto'
import { isLocalPath } from '../../catalog/settings/access/auth-rules.ts'
import type { SamlSettings } from '../../catalog/settings/access/auth-schema.ts'
import { AUTH } from '../../catalog/settings/access/auth-settings.ts'
import type { AuthDeps } from '../auth-deps.ts'
import type { SessionUser } from '../sessions.ts'
import { rolesOf } from './roles.ts'
import { claimsOf } from './saml-assertion.ts'
import { checkEnvelope, type SamlEnvelope } from './saml-envelope.ts'
import { requestUrl, signedAssertion } from './saml-provider.ts'
import { SamlRefusedError } from './saml-refused.ts'
import { readXml } from './xml-tree.ts'

/** The user, and the local path to which the browser goes after login. */
export interface SamlLogin {
  readonly user: SessionUser
  readonly returnTo: string
}

/**
 * Each call rejects with `StoreDownError` or `CatalogUnavailableError` if a store is unavailable.
 */
export interface Saml {
  /** The first provider if `name` is undefined. Null if it does not exist. */
  provider(name: string | undefined): Promise<SamlSettings | null>
  /**
   * Returns the URL for the browser. `binding`: secret of this browser. `returnTo`: path after
   * login; ignored unless it is a local path.
   */
  begin(provider: SamlSettings, binding: string, returnTo: string | undefined): Promise<string>
  /**
   * Accepts a response of the provider. `bound`: the login waits for `finish` by the browser that
   * began it. Throws `SamlRefusedError`.
   */
  accept(
    provider: SamlSettings,
    response: string,
    relayState: string | undefined,
  ): Promise<SamlLogin | 'bound'>
  /** Returns the login accepted for this browser, once; null without one. */
  finish(provider: SamlSettings, binding: string): Promise<SamlLogin | null>
}

/** Maximum duration of the login at the provider. */
export const REQUEST_MS = 10 * 60_000
/** Time for the browser to follow the redirect. */
const FINISH_MS = 2 * 60_000

const NO_ROLE = 'the user has no role here'

interface BegunRequest {
  /** Hash of the binding. */
  browser: string
  returnTo: string
}

export function createSaml(deps: Pick<AuthDeps, 'keys' | 'settings' | 'clock'>): Saml {
  const { keys, settings, clock } = deps
  const requestKey = (provider: SamlSettings, id: string) =>
    `saml:request:${provider.name}:${hashOf(id)}`
  const waitingKey = (provider: SamlSettings, browser: string) =>
    `saml:waiting:${provider.name}:${browser}`
  return {
    async provider(name) {
      const { protocols } = await settings.get(AUTH)
      const all = protocols.filter((each) => each.type === 'saml')
      return (name === undefined ? all[0] : all.find((each) => each.name === name)) ?? null
    },
    async begin(provider, binding, returnTo) {
      // XML ids begin with a letter or underscore.
      const id = `_${randomBytes(20).toString('hex')}`
      const isOurs = returnTo !== undefined && isLocalPath(returnTo)
      const begun: BegunRequest = {
        browser: hashOf(binding),
        returnTo: isOurs ? returnTo : provider.return_url,
      }
      await keys.set(requestKey(provider, id), JSON.stringify(begun), REQUEST_MS)
      return requestUrl(provider, id)
    },
    async accept(provider, response, relayState) {
      const nowMs = clock.nowMs()
      const { text, envelope } = openEnvelope(provider, response)
      const { inResponseTo } = envelope
      // Signature checks are expensive: only responses to a pending request get one.
      const isWaiting = async (id: string) => (await keys.get(requestKey(provider, id))) !== null
      if (inResponseTo !== null && !(await isWaiting(inResponseTo))) throw notWaiting()
      const assertion = await signedAssertion(provider, text, envelope)
      const claims = claimsOf(assertion, inResponseTo, provider, nowMs)
      const seen = `saml:assertion:${provider.name}:${hashOf(claims.assertionId)}`
      const isNew = await keys.setOnce(seen, '1', Math.ceil(claims.endMs - nowMs))
      if (!isNew) throw new SamlRefusedError('it has already been used')
      const user = userOf(provider, claims)
      if (inResponseTo === null) {
        const isOurs = relayState !== undefined && isLocalPath(relayState)
        return { user, returnTo: isOurs ? relayState : provider.return_url }
      }
      const begun = await keys.take(requestKey(provider, inResponseTo))
      if (begun === null) throw notWaiting()
      const { browser, returnTo } = JSON.parse(begun) as BegunRequest
      const login: SamlLogin = { user, returnTo }
      await keys.set(waitingKey(provider, browser), JSON.stringify(login), FINISH_MS)
      return 'bound'
    },
    async finish(provider, binding) {
      const waiting = await keys.take(waitingKey(provider, hashOf(binding)))
      return waiting === null ? null : (JSON.parse(waiting) as SamlLogin)
    },
  }
}

function notWaiting(): SamlRefusedError {
  return new SamlRefusedError('it answers no pending request')
}

/** Checks that need no key. */
function openEnvelope(
  provider: SamlSettings,
  response: string,
): { text: string; envelope: SamlEnvelope } {
  const text = textOf(response)
  const envelope = checkEnvelope(readXml(text))
  const { destination, inResponseTo } = envelope
  if (destination !== null && destination !== provider.callback_url) {
    throw new SamlRefusedError('it is for another destination')
  }
  if (inResponseTo === null && !provider.allow_unsolicited) {
    throw new SamlRefusedError('it is unsolicited')
  }
  return { text, envelope }
}

function textOf(response: string): string {
  const base64 = response.replace(/\s+/g, '')
  if (!/^[A-Za-z0-9+/]+={0,2}$/.test(base64)) throw new SamlRefusedError('it is not base64')
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(Buffer.from(base64, 'base64'))
  } catch {
    throw new SamlRefusedError('it is not UTF-8')
  }
}

function userOf(
  { name, roles }: SamlSettings,
  { username, roleValues }: { username: string; roleValues: readonly string[] },
): SessionUser {
  const granted = rolesOf(roles, roleValues)
  if (granted.length === 0) throw new SamlRefusedError(NO_ROLE, NO_ROLE)
  // Qualified by the provider: another provider or the users collection may have the same name.
  return { id: `saml:${name}:${username}`, name: username, roles: granted }
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
