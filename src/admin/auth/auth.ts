/** Composition of authentication for the control plane. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { clientsSetting } from '../../catalog/clients/clients.ts'
import { sealerOf } from '../../catalog/sealing/secret-keys.ts'
import { AUTH, publicProviders } from '../../catalog/settings/access/auth-settings.ts'
import type { RouteAccess } from '../../identity/access.ts'
import type { AuthDeps } from '../../identity/auth-deps.ts'
import { type Caller, mayDo } from '../../identity/caller.ts'
import { tooMany } from '../../identity/login.ts'
import { createTokenCheck } from '../../identity/oauth/token-check.ts'
import { PASSWORDS } from '../../identity/passwords.ts'
import { PERMISSIONS, rolesFor } from '../../identity/permission-rules.ts'
import { createLdap } from '../../identity/protocols/ldap.ts'
import { createRefusalAudit } from '../../identity/refusal-audit.ts'
import { createSessionCheck, createSessionLook } from '../../identity/session-check.ts'
import { createSessions } from '../../identity/session-store.ts'
import { createSignatureCheck } from '../../identity/signature-check.ts'
import { createSecondFactors } from '../../identity/totp/factors.ts'
import { createUsers } from '../../identity/users.ts'
import { createUserVerifier } from '../../identity/verify-user.ts'
import type { Clock } from '../../runtime/clock.ts'
import { createTokens } from '../../store/tokens.ts'
import { type AuthGuard, createAuthGuard, identify } from './auth-guard.ts'
import { setSessionCookie } from './cookies.ts'
import { addOAuthRoutes } from './oauth/routes.ts'
import { addSamlRoutes } from './protocols/saml-routes.ts'
import { addSessionRoutes, createLoginProtection } from './session-routes.ts'

export interface Auth {
  readonly guard: AuthGuard
  /** Like `AuthGuard.admit`, with the operator's permission rules in place of the usual roles. */
  admitAction(
    request: FastifyRequest,
    parameters: Parameters<AuthGuard['admit']>[1],
    action: { readonly collection: string; readonly name: string; readonly usual: RouteAccess },
  ): Promise<Caller>
  /** Whether a caller may do an action, likewise. */
  permits(
    caller: Caller,
    action: {
      readonly collection: string
      readonly name: string
      readonly usual: readonly string[]
    },
  ): Promise<boolean>
  /** Whether the request carries valid credentials in its headers or query; for public routes. */
  isAuthenticated(request: FastifyRequest, reply: FastifyReply): Promise<boolean>
  addRoutes(server: FastifyInstance): void
  /** Writes the refusals that are counted in memory. */
  close(): Promise<void>
}

export interface AuthOptions extends AuthDeps {
  /** Folder for the file with the generated password of the first admin. */
  readonly dataDir: string
  /** For the validity of users, which the entity API creates by the clock of the installation. */
  readonly validityClock: Clock
}

/** Audit period of refused authorisations. */
const DENIED_PERIOD = { periodMs: 60_000, message: null, recordsMax: 200 }

export function createAuth(options: AuthOptions): Auth {
  const { keys, settings, clock, config } = options
  const sealer = sealerOf(config)
  const clients = clientsSetting(sealer)
  const tokens = createTokens(keys)
  const sessions = createSessions(options)
  const users = createUsers({ ...options, clock: options.validityClock })
  const factors = createSecondFactors({ ...options, sealer })
  const oauth = { ...options, clients, tokens, users: users.check }
  const checks = {
    token: createTokenCheck(oauth),
    signature: createSignatureCheck({
      keys,
      settings,
      clock,
      clients: () => settings.get(clients),
    }),
    session: createSessionCheck({ sessions, users }),
    look: createSessionLook({ sessions, users }),
  }
  const denied = createRefusalAudit(options, DENIED_PERIOD)
  const guard = createAuthGuard({ admin: config.admin, denied, ...checks })
  return {
    guard,
    close: denied.close,
    async admitAction(request, parameters, { collection, name, usual }) {
      const action = `${collection}/${name}`
      const caller = await guard.admit(request, parameters, 'user', action)
      if (typeof usual === 'string') return caller
      const rules = await settings.get(PERMISSIONS)
      return guard.admit(request, parameters, rolesFor(rules, collection, name, usual), action)
    },
    async permits(caller, { collection, name, usual }) {
      const rules = await settings.get(PERMISSIONS)
      return mayDo(caller, rolesFor(rules, collection, name, usual))
    },
    async isAuthenticated(request, reply) {
      if (guard.isOpen) return true
      await identify(checks, request, reply)
      const { caller } = request
      return caller !== null && !caller.mustChangePassword && !caller.mustEnrolTotp
    },
    addRoutes(server) {
      const counters = createLoginProtection({ ...options, users })
      const saml = addSamlRoutes(server, options, {
        sessions,
        setCookie: (reply, _, value) => setSessionCookie(reply, value),
        async limit(request) {
          const refused = await counters.attempts.admit({ address: request.ip, device: null })
          if (refused !== null) throw tooMany(refused)
        },
      })
      const protocols = {
        password: [createLdap({ ...options, sealer })],
        redirect: [saml],
        options: async () => publicProviders(await settings.get(AUTH)),
      }
      const { isOpen } = guard
      const own = { sessions, users, factors, protocols, passwords: PASSWORDS }
      const login = { ...options, ...own, isOpen }
      addSessionRoutes(server, login)
      addOAuthRoutes(server, {
        ...oauth,
        verifyUser: createUserVerifier({ ...login, ...counters }),
      })
    },
  }
}
