/** Tokens and signatures in a request (interface sections 5.2 and 5.3). */
import { addForm, FormError, FormTree } from '../../catalog/signature/form-tree.ts'
import { parseOrdered } from '../../catalog/signature/ordered-json.ts'
import { type SentParameters, signatureNameOf } from '../../catalog/signature/signed-text.ts'
import { mediaKind } from './content-types.ts'
import type { Head } from './exchange.ts'
import { type Refusal, refusal } from './refusal.ts'
import { isDocument, withoutParameters } from './urlencoded.ts'

/** What a request proves itself with; a refusal if that cannot be told; null: with nothing. */
export type ClientCredentials =
  | { readonly token: string; readonly field: 'authorization' | 'access_token' }
  | { readonly sent: SentParameters }
  | Refusal
  | null

/** Parameters that only say who sends a request. */
const NAMES = ['access_token', '_sig_', '_t_', 'signature'] as const

const LIMITS = { pairsMax: 1_000, depthMax: 32, refusedStep: () => null }
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
  try {
    const query = new FormTree(LIMITS)
    addForm(head.query, query)
    const queryToken = query.root.get('access_token')
    const isQuerySigned = signatureNameOf(query.root) !== null
    const inBody = body === null ? null : bodyParameters(head, body, isQuerySigned)
    if (inBody !== null && 'refused' in inBody) return inBody
    const bodyToken = inBody?.isForm === true ? inBody.sent.get('access_token') : undefined
    const tokens = [bearer ?? undefined, queryToken, bodyToken].filter((one) => one !== undefined)
    if (tokens.length > 1) return SEVERAL
    const [token] = tokens
    if (token !== undefined) {
      const field = bearer === null ? 'access_token' : 'authorization'
      return typeof token === 'string' && isToken(token) ? { token, field } : BAD_TOKEN
    }
    const sent = new Map([...query.root, ...(inBody?.sent ?? [])])
    return signatureNameOf(sent) === null ? null : { sent }
  } catch (error) {
    // No message may end the process, whatever is wrong with it.
    return error instanceof FormError ? refused('parameters', error.text(told)) : UNREADABLE
  }
}

interface BodyParameters {
  readonly sent: SentParameters
  readonly isForm: boolean
}

/** Null: there are none that matter. Throws `FormError` or `SyntaxError`. */
function bodyParameters(
  head: Head,
  body: Buffer,
  isQuerySigned: boolean,
): BodyParameters | Refusal | null {
  if (body.length === 0) return null
  const kind = mediaKind(head.contentType)
  const isForm = kind === 'form' && !isDocument(body)
  const isJson = !isForm && (kind === 'form' || kind === 'json' || kind === 'none')
  if (!isForm && !isJson) return isQuerySigned ? NOT_COVERED : null
  // A body is not looked into for nothing.
  const signs = isForm ? FORM_SIGNS : JSON_SIGNS
  if (!isQuerySigned && !signs.some((sign) => body.includes(sign))) return null
  const text = textOf(body)
  if (text === null) return UNREADABLE
  if (isForm) {
    const form = new FormTree(LIMITS)
    addForm(text, form)
    return { sent: form.root, isForm }
  }
  const value = parseOrdered(text, LIMITS.depthMax)
  if (value instanceof Map) return { sent: value, isForm }
  return isQuerySigned ? NOT_COVERED : null
}

const FORM_SIGNS = ['access_token', '_sig_', 'signature']
const JSON_SIGNS = ['"_sig_"', '"signature"']

function textOf(body: Buffer): string | null {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(body)
  } catch {
    return null
  }
}

function told(name: string): string {
  return name.length <= NAME_CHARS_MAX ? name : `${name.slice(0, NAME_CHARS_MAX)}...`
}

function refused(field: string, why: string): Refusal {
  return refusal(401, 'credentials', field, why)
}

const SEVERAL = refused('access_token', 'must be in one place: header, query or form')
const BAD_TOKEN = refused('access_token', 'is no token')
const UNREADABLE = refused('body', 'cannot be read for who has signed it')
const NOT_COVERED = refused('signature', 'covers a form or an object of JSON, but not this body')
