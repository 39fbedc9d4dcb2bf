/** Tokens and signatures in a request (docs/ACCESS.md, "Signatures"). */
import { addForm, FormError, FormTree } from '../../catalog/signature/form-tree.ts'
import { parseOrdered } from '../../catalog/signature/ordered-json.ts'
import { type OrderedParameters, signatureParameter } from '../../catalog/signature/signed-text.ts'
import { mediaKind } from './content-types.ts'
import type { Head } from './exchange.ts'
import { type RequestRefusal, refusal } from './refusal.ts'
import { isDocument, withoutParameters } from './urlencoded.ts'

/** Credentials of a request; a refusal if they are ambiguous or invalid; null if absent. */
export type ClientCredentials =
  | { readonly token: string; readonly field: 'authorization' | 'access_token' }
  | { readonly parameters: OrderedParameters }
  | RequestRefusal
  | null

/** Parameters that carry credentials only. */
const NAMES = ['access_token', '_sig_', '_t_', 'signature'] as const

const LIMITS = { keysMax: 2_000, depthMax: 32, refusedStep: () => null }
const NAME_CHARS_MAX = 100
const TOKEN = /^[0-9a-f]{40}$/

/** Whether the text has the form of a token and has to be checked. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/** Kind of credentials in a query. A `signature` of another length is a field of the message. */
export function queryCredentials(query: string): 'token' | 'signature' | 'none' {
  if (/(?:^|&)access_token=/.test(query)) return 'token'
  return /(?:^|&)(?:_sig_=|signature=[0-9a-f]{128}(?:&|$))/.test(query) ? 'signature' : 'none'
}

/** The query without credentials, as a message. */
export function withoutCredentials(query: string): string {
  return NAMES.reduce((rest, name) => withoutParameters(rest, `${name}=`), query)
}

/** Whether a body may contain parameters, by its head. */
export function mayHaveParameters({ method, contentType }: Head): boolean {
  return method === 'POST' && ['form', 'json', 'none'].includes(mediaKind(contentType))
}

/**
 * `bearer`: the token of the header; null if absent. `body`: null if it is not needed. A body that
 * is neither a form nor JSON is not covered by a signature.
 */
export function credentialsIn(
  head: Head,
  bearer: string | null,
  body: Buffer | null,
): ClientCredentials {
  const inQuery = queryCredentials(head.query)
  const kind = body === null ? 'none' : bodyKind(head, body)
  const signs = kind === 'none' || kind === 'other' ? [] : CREDENTIAL_MARKS[kind]
  // A body without marks of credentials is not parsed, and its other errors are not reported here.
  const isInBody = signs.some((sign) => body?.includes(sign) === true)
  if (bearer === null && inQuery === 'none' && !isInBody) return null
  try {
    const query = formOf(head.query)
    const inBody = bodyParameters(kind, body)
    const bodyToken = kind === 'form' ? inBody?.get('access_token') : undefined
    const tokens = [bearer ?? undefined, query.get('access_token'), bodyToken]
    const [token, another] = tokens.filter((one) => one !== undefined)
    if (another !== undefined) return SEVERAL
    if (token !== undefined) {
      const field = bearer === null ? 'access_token' : 'authorization'
      return typeof token === 'string' && isToken(token) ? { token, field } : BAD_TOKEN
    }
    const parameters = new Map([...query, ...(inBody ?? NOTHING)])
    if (signatureParameter(parameters) === null) return null
    return inBody === null ? NOT_COVERED : { parameters }
  } catch (error) {
    // No message may end the process.
    return error instanceof FormError ? refused('parameters', error.text(shortened)) : UNREADABLE
  }
}

type BodyKind = 'none' | 'form' | 'json' | 'other'

const CREDENTIAL_MARKS = {
  form: ['access_token', '_sig_', 'signature'],
  json: ['"_sig_"', '"signature"'],
} as const

const NOTHING: OrderedParameters = new Map()

function bodyKind({ contentType }: Head, body: Buffer): BodyKind {
  if (body.length === 0) return 'none'
  const kind = mediaKind(contentType)
  if (kind === 'form') return isDocument(body) ? 'json' : 'form'
  return kind === 'json' || kind === 'none' ? 'json' : 'other'
}

/** Null if the body cannot be covered by a signature. Throws `FormError`, or if it is not JSON. */
function bodyParameters(kind: BodyKind, body: Buffer | null): OrderedParameters | null {
  if (body === null || kind === 'none') return NOTHING
  if (kind === 'other') return null
  const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  if (kind === 'form') return formOf(text)
  const value = parseOrdered(text, LIMITS.depthMax)
  return value instanceof Map ? value : null
}

function formOf(text: string): OrderedParameters {
  const form = new FormTree(LIMITS)
  addForm(text, form)
  return form.root
}

function shortened(name: string): string {
  return name.length <= NAME_CHARS_MAX ? name : `${name.slice(0, NAME_CHARS_MAX)}...`
}

function refused(field: string, why: string): RequestRefusal {
  return refusal(401, 'credentials', field, why)
}

const SEVERAL = refused('access_token', 'must be in one place: header, query or form')
const BAD_TOKEN = refused('access_token', 'is not a token')
const UNREADABLE = refused('body', 'cannot be parsed to check its signature')
const NOT_COVERED = refused('signature', 'covers a form or an object of JSON, but not this body')
