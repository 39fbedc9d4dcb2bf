/** Selects the implementation of a payment gateway by its settings. */
import type { PaymentGateway } from './gateway.ts'
import { createSandbox, type SandboxSettings, type SandboxStore } from './sandbox/sandbox.ts'
import { createStripe, type StripeSettings } from './stripe/stripe.ts'

/** Settings with opened secrets. */
export type GatewaySettings =
  | ({ readonly type: 'sandbox'; readonly name: string } & SandboxSettings)
  | ({ readonly type: 'stripe'; readonly name: string } & StripeSettings)

export interface GatewayDeps {
  readonly sandboxStore: SandboxStore
  /** Address of a server that stands in for the API of Stripe, in tests. */
  readonly stripeAddress?: string | undefined
}

export function createGateway(settings: GatewaySettings, deps: GatewayDeps): PaymentGateway {
  return settings.type === 'sandbox'
    ? createSandbox(settings.name, settings, deps.sandboxStore)
    : createStripe(settings.name, settings, deps.stripeAddress)
}

/** Parameters of a gateway as operators set them, for lists. */
export interface GatewayType {
  readonly name: GatewaySettings['type']
  readonly about: string
  /** Defaults by name; empty for a secret or a value without one. */
  readonly params: Readonly<Record<string, string | number>>
}

export const GATEWAY_TYPES: readonly GatewayType[] = [
  {
    name: 'sandbox',
    about: 'Simulated gateway with a page of its own; moves no money.',
    params: { secret: '', pending_minutes: 10, slow_seconds: 60, timeout_seconds: 20 },
  },
  {
    name: 'stripe',
    about: 'Stripe: Checkout for cards, PaymentIntents for charges.',
    params: { api_key: '', webhook_secret: '', currency: '', timeout_seconds: 20 },
  },
]
