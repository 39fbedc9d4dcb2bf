/** Calls of the API. Nothing else of the console sends requests, except `live.ts`. */
import { signal } from '@preact/signals'
import type { AnswerOf, BodyOf, DetailsOf, GetPath, Path, QueryOf } from './call-types.ts'
import { beginCall, endCall } from './calls.ts'
import { elapsedMs, pause } from './clock.ts'
import { Refusal, refusalOf } from './errors.ts'
import { parseExactly } from './figures.ts'

export interface CallOptions {
  readonly signal?: AbortSignal
  /** Repeats of a write with the same key have one effect. */
  readonly idempotencyKey?: string
  /** Version of the revision that is to be changed; 409 if there is a newer one. */
  readonly ifMatch?: string
  /** Repeats the call if it fails: it changes nothing, or has an idempotency key. */
  readonly mayRepeat?: boolean
  /** Numbers as the server has them: of a document that is edited and sent back. */
  readonly hasPlainNumbers?: boolean
  /** No entry in the list of calls: it is repeated every second. */
  readonly isSilent?: boolean
  /** No login over the page, and no entry either. */
  readonly isQuiet?: boolean
}

/** False while the server does not answer. */
export const isOnline = signal(true)

const READS = /(?:^|\/)(?:get|uniqueget|quote|check)$/
/** Waits before each repeat, ms. */
const BACK_OFF_MS = [300, 1_000]
/** Their bodies have passwords. */
const SECRET_PATHS = /^(?:auth\/(?!options)|billapi\/users\/(?:create|update)$)/

let askLogin: (() => Promise<void>) | null = null

/** `ask` resolves when somebody has logged in; the refused calls are then repeated once. */
export function onSessionEnd(ask: () => Promise<void>): void {
  askLogin = ask
}

let beforeCalls: Promise<void> = Promise.resolve()

/** Calls of pages wait for it: without a session each would be refused, and sent again. */
export function holdCalls(until: Promise<void>): void {
  beforeCalls = until
}

/** POST with a JSON body; resolves with `details`. Throws `Refusal`. */
export async function call<P extends Path>(
  path: P,
  body?: BodyOf<P>,
  options: CallOptions = {},
): Promise<DetailsOf<P>> {
  return detailsOf(await answerOf(path, body, options)) as DetailsOf<P>
}

/** As `call`, with the whole answer: `next_page` of lists, for example. */
export async function answerOf<P extends Path>(
  path: P,
  body?: BodyOf<P>,
  options: CallOptions = {},
): Promise<AnswerOf<P>> {
  const mayRepeat = READS.test(path) || options.idempotencyKey !== undefined
  const request = { method: 'POST', path, body: JSON.stringify(body ?? {}) } as const
  return (await repeated(request, { mayRepeat, ...options })) as AnswerOf<P>
}

/** GET with a query string; resolves with `details`, or the answer if it has none. */
export async function get<P extends GetPath>(
  path: P,
  query: QueryOf<P> = {} as QueryOf<P>,
  options: CallOptions = {},
): Promise<DetailsOf<P>> {
  return detailsOf(await getAnswer(path, query, options)) as DetailsOf<P>
}

/** As `get`, with the whole answer. */
export async function getAnswer<P extends GetPath>(
  path: P,
  query: QueryOf<P> = {} as QueryOf<P>,
  options: CallOptions = {},
): Promise<AnswerOf<P>> {
  const present = Object.entries(query as object).filter(([, value]) => value !== undefined)
  const texts = present.map(([name, value]) => {
    return [name, typeof value === 'object' ? JSON.stringify(value) : String(value)]
  })
  const search = new URLSearchParams(texts).toString()
  const address = search === '' ? path : `${path}?${search}`
  const request = { method: 'GET', path: address, body: null } as const
  return (await repeated(request, { mayRepeat: true, ...options })) as AnswerOf<P>
}

function detailsOf(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || !('details' in answer)) return answer
  return answer.details
}

interface ApiRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body: string | null
}

/** After a failure with back-off, and after a login over the page. */
async function repeated(request: ApiRequest, options: CallOptions): Promise<unknown> {
  if (!options.isQuiet) await beforeCalls
  let hasLoggedIn = false
  for (let failures = 0; ; ) {
    try {
      return await once(request, options)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      const isPassing = error.kind === 'offline' || error.kind === 'unavailable'
      if (error.kind === 'login' && !options.isQuiet && !hasLoggedIn && askLogin !== null) {
        await askLogin()
        hasLoggedIn = true
      } else if (isPassing && options.mayRepeat === true && failures < BACK_OFF_MS.length) {
        await pause(BACK_OFF_MS[failures] ?? 0, options.signal)
        failures += 1
      } else throw error
    }
  }
}

async function once(request: ApiRequest, options: CallOptions): Promise<unknown> {
  const { idempotencyKey, ifMatch, isQuiet = false, isSilent = isQuiet } = options
  const headers = {
    ...(request.body !== null && { 'content-type': 'application/json' }),
    ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
    ...(ifMatch !== undefined && { 'if-match': ifMatch }),
  }
  const logged = SECRET_PATHS.test(request.path) ? { ...request, body: null } : request
  const id = isSilent ? null : beginCall({ ...logged, headers })
  const begun = elapsedMs()
  const end = (httpStatus: number, outcome: 'done' | 'refused' | 'failed' | 'aborted') => {
    const tookMs = elapsedMs() - begun
    if (id !== null) endCall(id, { tookMs, httpStatus, outcome })
  }
  try {
    const { httpStatus, text } = await send(request, headers, options.signal)
    isOnline.value = true
    const answer = parsed(text, options.hasPlainNumbers ? JSON.parse : parseExactly)
    const refusal = refusalOf(httpStatus, answer)
    end(httpStatus, refusal === null ? 'done' : 'refused')
    if (refusal !== null) throw refusal
    return answer
  } catch (error) {
    if (error instanceof Refusal) throw error
    const isAborted = options.signal?.aborted === true
    end(0, isAborted ? 'aborted' : 'failed')
    if (isAborted) throw error
    throw unreachable()
  }
}

/** A response that is read as it comes. Throws `Refusal`; asks for a login. */
export async function openStream(path: GetPath, signal: AbortSignal): Promise<Response> {
  await beforeCalls
  // A refusal of the stream itself is read like any other answer.
  const request = { method: 'GET', path, body: null } as const
  const id = beginCall({ ...request, headers: STREAM })
  const response = await fetch(new URL(path, document.baseURI), { headers: STREAM, signal }).catch(
    (error: unknown) => {
      endCall(id, { tookMs: null, httpStatus: 0, outcome: signal.aborted ? 'aborted' : 'failed' })
      if (signal.aborted) throw error
      throw unreachable()
    },
  )
  isOnline.value = true
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const outcome = isStream ? 'done' : 'refused'
  endCall(id, { tookMs: null, httpStatus: response.status, outcome })
  if (isStream) return response
  const refusal = refusalOf(response.status, parsed(await response.text()))
  if (refusal?.kind !== 'login' || askLogin === null) throw refusal ?? unreachable()
  await askLogin()
  return openStream(path, signal)
}

const STREAM = { accept: 'text/event-stream' } as const

function unreachable(): Refusal {
  isOnline.value = false
  return new Refusal('offline', 0, 'The server does not answer')
}

async function send(
  request: ApiRequest,
  headers: Record<string, string>,
  signal: AbortSignal | undefined,
) {
  const response = await fetch(new URL(request.path, document.baseURI), {
    method: request.method,
    headers,
    body: request.body,
    credentials: 'same-origin',
    cache: 'no-store',
    redirect: 'error',
    ...(signal !== undefined && { signal }),
  })
  return { httpStatus: response.status, text: await response.text() }
}

/** Undefined if it is not JSON: a proxy may answer in HTML. */
function parsed(text: string, parse: (text: string) => unknown = parseExactly): unknown {
  try {
    return parse(text)
  } catch {
    return undefined
  }
}
