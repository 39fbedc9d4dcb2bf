/** Tokenization: a customer enters a card on a hosted page of the gateway. */
import { randomBytes } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { TokenizationDocument } from '../../catalog/records/money/payment-documents.ts'
import type { SavedCard, TokenOutcome } from '../../external/payment/gateway.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Gateways } from './gateways.ts'

export interface TokenizeDeps {
  readonly catalog: Catalog
  readonly clock: Clock
  readonly gateways: Gateways
  /**
   * Stores the card as the active one of the account, in a transaction that begins with `claim`: if
   * it throws, nothing is stored.
   */
  saveCard(
    aid: number,
    active: Readonly<Record<string, unknown>>,
    actor: Actor,
    claim: (session: ClientSession) => Promise<void>,
  ): Promise<void>
}

export interface TokenizeRequest {
  readonly aid: number
  /** Instance of the gateway. */
  readonly gateway: string
  readonly returnUrl: string
  readonly okPage: string
  readonly failPage: string
  readonly language: string
  readonly baseUrl: string
  readonly actor: Actor
}

/** How long a hosted page may be used. */
export const PAGE_VALID_MS = 4 * 3_600_000
const REFERENCE_BYTES = 24

/** The gateway cannot be used, or the page cannot: an error that the caller may see. */
export class TokenizeError extends Error {
  override name = 'TokenizeError'
}

/** Returns the address of the hosted page. Rejects with `TokenizeError` or as the gateway. */
export async function startTokenization(
  { catalog, clock, gateways }: TokenizeDeps,
  request: TokenizeRequest,
): Promise<string> {
  const { aid, gateway: name, returnUrl, okPage, failPage, actor, baseUrl, language } = request
  const gateway = await gateways.get(name)
  if (gateway === null) throw new TokenizeError(`payment gateway ${name} is not available`)
  const reference = randomBytes(REFERENCE_BYTES).toString('base64url')
  const nowMs = clock.nowMs()
  const expiresMs = nowMs + PAGE_VALID_MS
  const back = new URL('/paymentgateways/OkPage', baseUrl)
  back.searchParams.set('name', name)
  back.searchParams.set('reference', reference)
  const page = { reference, aid, returnUrl: back.href, baseUrl, language, nowMs, expiresMs }
  const { url, session } = await gateway.startTokenization(page)
  const document: TokenizationDocument = {
    _id: reference,
    aid,
    gateway: name,
    session,
    returnUrl,
    okPage,
    failPage,
    state: 'open',
    code: '',
    actor,
    created: new Date(nowMs),
    expires: new Date(expiresMs),
  }
  await catalog.tokenizations.insertOne(document)
  return url
}

export type TokenizeResult =
  | { readonly kind: 'unknown page' | 'expired' | 'open' }
  | {
      readonly kind: 'completed' | 'rejected'
      readonly code: string
      readonly tokenization: TokenizationDocument
      /** Digits and expiry of a saved card. */
      readonly fourDigits: string
      readonly expiresMs: number | null
    }

/**
 * Verifies the return of a hosted page and stores the card. A repeated return has the same result.
 * Rejects with `ForgedReturnError` or as the gateway.
 */
export async function finishTokenization(
  deps: TokenizeDeps,
  parameters: ReadonlyMap<string, string>,
): Promise<TokenizeResult> {
  const { catalog, clock, gateways } = deps
  const reference = parameters.get('reference') ?? ''
  const found = await catalog.tokenizations.findOne({ _id: reference })
  if (found === null || found.gateway !== parameters.get('name')) return { kind: 'unknown page' }
  const nowMs = clock.nowMs()
  if (found.state === 'open' && nowMs >= found.expires.getTime()) return { kind: 'expired' }
  const gateway = await gateways.get(found.gateway)
  if (gateway === null) throw new TokenizeError(`payment gateway ${found.gateway} is not available`)
  const { session } = found
  const outcome = await gateway.finishTokenization({ reference, session, parameters, nowMs })
  const ended = found.state === 'open' ? await endOnce(deps, found, outcome, nowMs) : found
  const { state: kind, code } = ended
  if (kind === 'open') return { kind }
  const card = outcome.stage === 'completed' ? outcome.card : null
  const cardView = { fourDigits: card?.fourDigits ?? '', expiresMs: card?.expiresMs ?? null }
  return { kind, code, tokenization: ended, ...cardView }
}

/**
 * Returns the stored result: of returns at the same time only the first one has an effect, and the
 * gateway may have another outcome by now.
 */
async function endOnce(
  { catalog, saveCard }: TokenizeDeps,
  found: TokenizationDocument,
  outcome: TokenOutcome,
  nowMs: number,
): Promise<TokenizationDocument> {
  if (outcome.stage === 'open') return found
  const { _id, aid, actor, gateway } = found
  const code = outcome.stage === 'rejected' ? outcome.code : ''
  const end = async (session?: ClientSession) => {
    const { matchedCount } = await catalog.tokenizations.updateOne(
      { _id, state: 'open' },
      { $set: { state: outcome.stage, code } },
      session === undefined ? {} : { session },
    )
    if (matchedCount === 0) throw new TokenizationEndedError()
  }
  try {
    if (outcome.stage === 'rejected') await end()
    else await saveCard(aid, activeFields(gateway, outcome.card, nowMs), actor, end)
    return { ...found, state: outcome.stage, code }
  } catch (error) {
    if (!(error instanceof TokenizationEndedError)) throw error
    const stored = await catalog.tokenizations.findOne({ _id })
    return stored ?? found
  }
}

class TokenizationEndedError extends Error {
  override name = 'TokenizationEndedError'
}

/** `payment_gateway.active` of the account, before its secrets are sealed. */
function activeFields(instance: string, card: SavedCard, nowMs: number) {
  const { expiresMs, customerId } = card
  return {
    name: instance.split('#')[0] ?? instance,
    instance_name: instance,
    card_token: card.cardToken,
    ...(expiresMs !== null && { card_expiration: new Date(expiresMs).toISOString() }),
    personal_id: card.personalId,
    transaction_exhausted: true,
    // Whole seconds, as answers show them.
    generate_token_time: new Date(Math.floor(nowMs / 1000) * 1000).toISOString(),
    auth_number: card.authNumber,
    four_digits: card.fourDigits,
    ...(customerId !== '' && { customer_id: customerId }),
  }
}
