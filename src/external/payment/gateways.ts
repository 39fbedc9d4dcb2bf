/** The table of payment gateways. */
import type { TObject } from '@sinclair/typebox'
import type { PaymentGateway } from './gateway.ts'
import { SANDBOX, type SandboxStore } from './sandbox/sandbox.ts'
import { STRIPE } from './stripe/stripe.ts'

export interface GatewayDeps {
  readonly sandboxStore: SandboxStore
}

/** Parameters of an instance by their names in the settings, with defaults and opened secrets. */
export type GatewayParams = Readonly<Record<string, unknown>>

export interface GatewayType {
  /** One sentence for operators. */
  readonly about: string
  /** Parameters as they are stored: the secrets are sealed. */
  readonly schema: TObject
  readonly secrets: readonly string[]
  /** Secrets that are generated if they are not given. */
  readonly generated: readonly string[]
  /** True if it moves real money. A secret that cannot be opened is null. */
  isLive(params: GatewayParams): boolean
  /** All secrets could be opened, and the generated ones are there. */
  create(name: string, params: GatewayParams, deps: GatewayDeps): PaymentGateway
}

/** By the name in the settings. */
export const GATEWAYS: ReadonlyMap<unknown, GatewayType> = new Map<string, GatewayType>([
  ['sandbox', SANDBOX],
  ['stripe', STRIPE],
])
