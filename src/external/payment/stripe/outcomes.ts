/** Outcomes in objects and errors of Stripe (https://docs.stripe.com/error-low-level). */
import type Stripe from 'stripe'
import { type GatewayOutcome, GatewayRefusedError, GatewayUnansweredError } from '../gateway.ts'

/** Declines that a repetition cannot change (https://docs.stripe.com/declines/codes). */
const FINAL: ReadonlySet<string> = new Set([
  'authentication_required',
  'card_not_supported',
  'currency_not_supported',
  'expired_card',
  'fraudulent',
  'incorrect_number',
  'invalid_account',
  'invalid_number',
  'lost_card',
  'new_account_information_available',
  'pickup_card',
  'restricted_card',
  'revocation_of_all_authorizations',
  'revocation_of_authorization',
  'stolen_card',
  'stop_payment_order',
])

export function outcomeOfIntent(intent: Stripe.PaymentIntent): GatewayOutcome {
  const { id: reference, status } = intent
  switch (status) {
    case 'succeeded':
      return { stage: 'completed', reference, status, code: '', isFinal: false }
    case 'processing':
    case 'requires_capture':
      return { stage: 'pending', reference, status, code: '', isFinal: false }
    case 'canceled':
    case 'requires_action':
    case 'requires_confirmation':
    case 'requires_payment_method': {
      const { last_payment_error: last } = intent
      const fallback = status === 'requires_action' ? 'authentication_required' : status
      const code = last?.decline_code ?? last?.code ?? fallback
      return { stage: 'rejected', reference, status, code, isFinal: FINAL.has(code) }
    }
    default:
      throw new GatewayUnansweredError('the status of the PaymentIntent is not known')
  }
}

export function outcomeOfRefund({
  id: reference,
  status,
  failure_reason,
}: Stripe.Refund): GatewayOutcome {
  if (status === 'succeeded') {
    return { stage: 'completed', reference, status, code: '', isFinal: false }
  }
  if (status === 'pending' || status === 'requires_action') {
    return { stage: 'pending', reference, status, code: '', isFinal: false }
  }
  const code = failure_reason ?? 'refund_failed'
  return { stage: 'rejected', reference, status: status ?? 'failed', code, isFinal: true }
}

/** A refused card, with the PaymentIntent that was made; null for other errors. */
export function outcomeOfError(error: unknown): GatewayOutcome | null {
  return error instanceof CardRefusedError ? error.outcome : null
}

class CardRefusedError extends Error {
  override name = 'CardRefusedError'
  readonly outcome: GatewayOutcome

  constructor(outcome: GatewayOutcome) {
    super('the card was refused')
    this.outcome = outcome
  }
}

/** Members of errors of the SDK that are read; their texts may quote keys and are not. */
interface SdkError {
  readonly type?: unknown
  readonly code?: unknown
  readonly decline_code?: unknown
  readonly statusCode?: unknown
  readonly payment_intent?: { readonly id?: unknown; readonly status?: unknown }
}

/** Classes of errors after which certainly nothing was done. */
const REFUSALS: ReadonlySet<unknown> = new Set([
  'StripeInvalidRequestError',
  'StripeAuthenticationError',
  'StripePermissionError',
  'StripeRateLimitError',
])

/** Runs a call, and translates its errors into those of gateways. */
export async function translated<T>(call: () => Promise<T>): Promise<T> {
  try {
    return await call()
  } catch (error) {
    if (error instanceof GatewayUnansweredError) throw error
    throw translate(error as SdkError)
  }
}

function translate({ type, code, decline_code, statusCode, payment_intent }: SdkError): Error {
  const text = wordOf(decline_code) ?? wordOf(code) ?? wordOf(type) ?? 'error'
  if (type === 'StripeCardError') {
    return new CardRefusedError({
      stage: 'rejected',
      reference: wordOf(payment_intent?.id) ?? '',
      status: wordOf(payment_intent?.status) ?? 'failed',
      code: text,
      isFinal: FINAL.has(text),
    })
  }
  // 409: another request with this key is still running.
  if (REFUSALS.has(type) && statusCode !== 409) {
    return new GatewayRefusedError(text, `Stripe has refused the request: ${text}`)
  }
  return new GatewayUnansweredError(`Stripe has given no valid answer: ${text}`)
}

/** Codes are short words; anything else is not passed on. */
function wordOf(value: unknown): string | null {
  return typeof value === 'string' && /^\w{1,64}$/.test(value) ? value : null
}
