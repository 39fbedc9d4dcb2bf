/** Tokens and signatures in a request (interface sections 5.2 and 5.3). */
import { addForm, FormError, FormTree } from '../../catalog/signature/form-tree.ts'
import { parseOrdered } from '../../catalog/signature/ordered-json.ts'
import { type SentParameters, signatureParameter } from '../../catalog/signature/signed-text.ts'
import { mediaKind } from './content-types.ts'
import type { Head } from './exchange.ts'
import { type RequestRefusal, refusal } from './refusal.ts'
import { isDocument, withoutParameters } from './urlencoded.ts'

/** What a request proves itself with; a refusal if that cannot be told; null: with nothing. */
export type ClientCredentials =
  | { readonly token: string; readonly field: 'authorization' | 'access_token' }
  | { readonly sent: SentParameters }
  | RequestRefusal
  | null

/** Parameters that only say who sends a request. */
const NAMES = ['access_token', '_sig_', '_t_', 'signature'] as const

const LIMITS = { keysMax: 2_000, depthMax: 32, refusedStep: () => null }
const NAME_CHARS_MAX = 100
const TOKEN = /^[0-9a-f]{40}$/

/** Whether it can be a token, so that somebody has to be asked. */
export function isToken(text: string): boolean {
  return TOKEN.test(text)
}

/**
 * Whether a query has parameters of this kind. What is called `signature` and has not its length is
 * something else: a field of a message.
 */
export function queryCredentials(query: string): 'token' | 'signature' | 'none' {
  if (/(?:^|&)access_token=/.test(query)) return 'token'
  return /(?:^|&)(?:_sig_=|signature=[0-9a-f]{128}(?:&|$))/.test(query) ? 'signature' : 'none'
}

/** The same query as a message: without them. */
export function withoutCredentials(query: string): string {
  return NAMES.reduce((rest, name) => withoutParameters(rest, `${name}=`), query)
}

/** Whether a body may have parameters, by its head. */
export function mayHaveParameters({ method, contentType }: Head): boolean {
  return method === 'POST' && ['form', 'json', 'none'].includes(mediaKind(contentType))
}

/**
 * `bearer`: the token of the header; null: there is none. `body`: null where it need not be known.
 * What is in a body that is neither a form nor JSON, a signature would not cover.
 */
export function credentialsIn(
  head: Head,
  bearer: string | null,
  body: Buffer | null,
): ClientCredentials {
  const inQuery = queryCredentials(head.query)
  const kind = body === null ? 'none' : bodyKind(head, body)
  const signs = kind === 'none' || kind === 'other' ? [] : CREDENTIAL_MARKS[kind]
  // Nothing is looked into for nothing, nor refused for what else is wrong with it.
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
    const sent = new Map([...query, ...(inBody ?? NOTHING)])
    if (signatureParameter(sent) === null) return null
    return inBody === null ? NOT_COVERED : { sent }
  } catch (error) {
    // No message may end the process, whatever is wrong with it.
    return error instanceof FormError ? refused('parameters', error.text(shortened)) : UNREADABLE
  }
}

type BodyKind = 'none' | 'form' | 'json' | 'other'

const CREDENTIAL_MARKS = {
  form: ['access_token', '_sig_', 'signature'],
  json: ['"_sig_"', '"signature"'],
} as const

const NOTHING: SentParameters = new Map()

function bodyKind({ contentType }: Head, body: Buffer): BodyKind {
  if (body.length === 0) return 'none'
  const kind = mediaKind(contentType)
  if (kind === 'form') return isDocument(body) ? 'json' : 'form'
  return kind === 'json' || kind === 'none' ? 'json' : 'other'
}

/** Null: it has none that a signature would cover. Throws `FormError`, or for what is no JSON. */
function bodyParameters(kind: BodyKind, body: Buffer | null): SentParameters | null {
  if (body === null || kind === 'none') return NOTHING
  if (kind === 'other') return null
  const text = new TextDecoder('utf-8', { fatal: true }).decode(body)
  if (kind === 'form') return formOf(text)
  const value = parseOrdered(text, LIMITS.depthMax)
  return value instanceof Map ? value : null
}

function formOf(text: string): SentParameters {
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
const BAD_TOKEN = refused('access_token', 'is no token')
const UNREADABLE = refused('body', 'cannot be read for who has signed it')
const NOT_COVERED = refused('signature', 'covers a form or an object of JSON, but not this body')
