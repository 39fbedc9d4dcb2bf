/** Reads the parameters of a request to the token or revocation endpoint. */
import type { FastifyRequest } from 'fastify'
import { OAuthError } from '../../../identity/oauth/errors.ts'
import {
  OAUTH_PARAMETERS,
  type OAuthParameter,
  type OAuthParameters,
} from '../../../identity/oauth/parameters.ts'
import type { RawParameters } from '../../../requests/raw-parameters.ts'
import { bodyParameters, queryParameters } from '../../http/body.ts'

const LENGTH_MAX = 1024

/**
 * Parameters must be in the body, as a form or JSON, because URLs are logged. The client's
 * credentials are in the body or in HTTP Basic. Throws `OAuthError`, or errors of the body parser.
 */
export function readOAuthParameters(request: FastifyRequest): OAuthParameters {
  if (request.isMultipart()) throw invalid('The parameters must come in a form or in JSON')
  refuseQuery(request.url)
  const body = bodyParameters(request)
  const texts = new Map(OAUTH_PARAMETERS.map((name) => [name, textOf(body, name)]))
  const text = (name: OAuthParameter) => texts.get(name) ?? null
  return { ...credentialsOf(request.headers.authorization, text), text, address: request.ip }
}

function refuseQuery(url: string): void {
  const values = queryParameters(url)
  const present = OAUTH_PARAMETERS.find((name) => values.has(name))
  if (present !== undefined) throw invalid(`${present} must come in the body, not in the address`)
}

function textOf(body: RawParameters, name: string): string | null {
  const value = body.get(name) ?? ''
  if (typeof value !== 'string') throw invalid(`${name} must be a text`)
  if (value.length > LENGTH_MAX) throw invalid(`${name} is too long`)
  return value === '' ? null : value
}

function credentialsOf(
  header: string | undefined,
  text: OAuthParameters['text'],
): Pick<OAuthParameters, 'clientId' | 'clientSecret'> {
  const id = text('client_id')
  const secret = text('client_secret')
  const basic = /^ *basic\b *(.*)$/i.exec(header ?? '')?.[1]
  if (basic === undefined) return { clientId: id ?? '', clientSecret: secret ?? '' }
  if (secret !== null) throw invalid('The client credentials must come in one place')
  const [, name = '', password = ''] = /^([^:]*):(.*)$/s.exec(decoded(basic)) ?? []
  if (id !== null && id !== name) throw invalid('client_id is not the one of HTTP Basic')
  if (name.length > LENGTH_MAX || password.length > LENGTH_MAX) {
    throw invalid('The client credentials are too long')
  }
  return { clientId: name, clientSecret: password }
}

function decoded(basic: string): string {
  return Buffer.from(basic.trim(), 'base64').toString('utf8')
}

function invalid(message: string): OAuthError {
  return new OAuthError('invalid_request', message)
}
