/** The interface of payment gateways: tokens of cards, charges, and their outcomes. */

/** A card as the gateway has stored it. All fields but the digits and the expiry are secret. */
export interface SavedCard {
  readonly cardToken: string
  /** The customer at the gateway to whom the card belongs; empty if the gateway has none. */
  readonly customerId: string
  /** End of the month in which the card expires, epoch ms; null if the gateway does not say. */
  readonly expiresMs: number | null
  readonly fourDigits: string
  readonly personalId: string
  readonly authNumber: string
}

export interface TokenizationRequest {
  /** Our id of this tokenization; unguessable. */
  readonly reference: string
  readonly aid: number
  /** Address to which the hosted page returns. */
  readonly returnUrl: string
  /** Base address of this node, for pages that it serves. */
  readonly baseUrl: string
  readonly language: string
  readonly nowMs: number
  readonly expiresMs: number
}

export interface HostedPage {
  readonly url: string
  /** The gateway's id of this tokenization. */
  readonly session: string
}

export interface TokenReturn {
  readonly reference: string
  readonly session: string
  /** Parameters with which the page returned: untrusted. */
  readonly parameters: ReadonlyMap<string, string>
  readonly nowMs: number
}

export type TokenOutcome =
  | { readonly stage: 'completed'; readonly card: SavedCard }
  | { readonly stage: 'rejected'; readonly code: string }
  /** The customer has not finished yet. */
  | { readonly stage: 'open' }

export interface GatewayCharge {
  /** Idempotency key: the gateway charges once per key. */
  readonly key: string
  readonly aid: number
  /** Exact decimal above 0, in the currency of the gateway's settings. */
  readonly amount: string
  readonly card: Pick<SavedCard, 'cardToken' | 'customerId'>
  readonly nowMs: number
}

/** A charge or refund to ask for. `reference` is empty if the gateway has never answered. */
export interface ChargeQuery {
  readonly key: string
  readonly reference: string
  readonly card: Pick<SavedCard, 'cardToken' | 'customerId'>
  /** The gateway's id of the refunded charge; only refunds have it. */
  readonly refundOf?: string
  readonly sentMs: number
  readonly nowMs: number
}

export interface RefundRequest {
  readonly key: string
  /** The gateway's id of the charge to refund. */
  readonly reference: string
  readonly amount: string
  readonly nowMs: number
}

export type ChargeStage = 'completed' | 'pending' | 'rejected'

export interface GatewayOutcome {
  readonly stage: ChargeStage
  /** The gateway's id of the charge; empty if it has given none. */
  readonly reference: string
  /** The gateway's own word for the outcome. */
  readonly status: string
  /** Code of a rejection; empty otherwise. */
  readonly code: string
  /** True if the charge was rejected and a repetition cannot succeed. */
  readonly isFinal: boolean
}

/** A verified message of the gateway: the charge of this key or reference has changed. */
export interface GatewayNotification {
  readonly key: string
  readonly reference: string
}

/**
 * Every method rejects with `GatewayUnansweredError` or `GatewayRefusedError`, and within the time
 * limit of the settings.
 */
export interface PaymentGateway {
  /** Name of the instance, such as `stripe` or `stripe#2`. */
  readonly name: string
  startTokenization(request: TokenizationRequest): Promise<HostedPage>
  /** Also rejects with `ForgedReturnError`. */
  finishTokenization(returned: TokenReturn): Promise<TokenOutcome>
  charge(request: GatewayCharge): Promise<GatewayOutcome>
  /** `absent`: the gateway has no such charge at this time. */
  query(query: ChargeQuery): Promise<GatewayOutcome | 'absent'>
  refund(request: RefundRequest): Promise<GatewayOutcome>
  /** Null for an event about something else. Rejects with `ForgedReturnError`. */
  readNotification(
    headers: Readonly<Record<string, unknown>>,
    body: Buffer,
    nowMs: number,
  ): Promise<GatewayNotification | null>
}

/** No answer, or one that cannot be understood: the request may have been carried out. */
export class GatewayUnansweredError extends Error {
  override name = 'GatewayUnansweredError'
}

/** The gateway has refused the request: nothing was charged. */
export class GatewayRefusedError extends Error {
  override name = 'GatewayRefusedError'
  /** The gateway's code, such as `authentication_error`. */
  readonly code: string

  constructor(code: string, message: string) {
    super(message)
    this.code = code
  }
}

/** A return or a notification whose signature does not match. */
export class ForgedReturnError extends Error {
  override name = 'ForgedReturnError'
}
