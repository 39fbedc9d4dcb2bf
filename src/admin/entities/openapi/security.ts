/** Authentication methods as OpenAPI security schemes. */
import type { Schema } from './schema.ts'

export const SECURITY_SCHEMES: Readonly<Record<string, Schema>> = {
  session: {
    type: 'apiKey',
    in: 'cookie',
    name: 'tollgate_session',
    description:
      'Set by `POST /auth/login`; over TLS its name is `__Host-tollgate_session`. Pages of other ' +
      'sites cannot use it.',
  },
  token: {
    type: 'oauth2',
    description: 'Sent as `Authorization: Bearer TOKEN`.',
    flows: {
      clientCredentials: {
        tokenUrl: '/oauth2/token',
        scopes: { global: 'All that the client may' },
      },
    },
  },
  tokenParameter: {
    type: 'apiKey',
    in: 'query',
    name: 'access_token',
    description:
      'The same token as a parameter, also in the body of a form. Addresses end up in logs.',
  },
  signature: {
    type: 'apiKey',
    in: 'query',
    name: '_sig_',
    description:
      'HMAC-SHA-512 of all parameters with a shared secret, or as `signature`; with the time in ' +
      '`_t_`. Also in the body.',
  },
}

/** Any one of them is sufficient. */
export const SECURITY: readonly Schema[] = Object.keys(SECURITY_SCHEMES).map((name) => ({
  [name]: [],
}))
