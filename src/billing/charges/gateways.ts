/** The payment gateways of the stored settings, with opened secrets. */
import type { CurrentSettings } from '../../catalog/settings/current-settings.ts'
import { PAYMENT_GATEWAYS, type StoredGateway } from '../../catalog/settings/gateway-settings.ts'
import type { Sealer } from '../../catalog/settings/sealing.ts'
import {
  createGateway,
  type GatewayDeps,
  type GatewaySettings,
} from '../../external/payment/create.ts'
import type { PaymentGateway } from '../../external/payment/gateway.ts'

export interface Gateways {
  /** Null if there is no such enabled instance, or its secrets cannot be opened. */
  get(name: string): Promise<PaymentGateway | null>
  /** The enabled instances. */
  list(): Promise<readonly StoredGateway[]>
}

export interface GatewaysOptions extends GatewayDeps {
  readonly settings: CurrentSettings
  readonly sealer: Pick<Sealer, 'open'>
}

export function createGateways({ settings, sealer, ...deps }: GatewaysOptions): Gateways {
  /** One per settings: a gateway keeps its connections. */
  const made = new WeakMap<StoredGateway, PaymentGateway | null>()
  const list = () => settings.get(PAYMENT_GATEWAYS)
  return {
    list,
    async get(name) {
      const found = (await list()).find(({ instanceName }) => instanceName === name)
      if (found === undefined) return null
      const known = made.get(found)
      if (known !== undefined) return known
      const opened = settingsOf(found, sealer)
      const gateway = opened === null ? null : createGateway(opened, deps)
      made.set(found, gateway)
      return gateway
    },
  }
}

const SECOND_MS = 1000
const MINUTE_MS = 60 * SECOND_MS
const DEFAULTS = { pendingMinutes: 10, slowSeconds: 60, timeoutSeconds: 20 }

/** Null if a secret cannot be opened. */
function settingsOf(
  { name, instanceName, params }: StoredGateway,
  { open }: Pick<Sealer, 'open'>,
): GatewaySettings | null {
  const seconds = (value: unknown, standard: number) => Number(value ?? standard) * SECOND_MS
  const timeoutMs = seconds(params['timeout_seconds'], DEFAULTS.timeoutSeconds)
  const secret = (key: string) => (params[key] === undefined ? '' : open(String(params[key])))
  if (name === 'sandbox') {
    const key = secret('secret')
    if (key === null || key === '') return null
    const pendingMs = Number(params['pending_minutes'] ?? DEFAULTS.pendingMinutes) * MINUTE_MS
    const slowMs = seconds(params['slow_seconds'], DEFAULTS.slowSeconds)
    return { type: name, name: instanceName, secret: key, pendingMs, slowMs, timeoutMs }
  }
  const [apiKey, webhookSecret] = [secret('api_key'), secret('webhook_secret')]
  if (apiKey === null || webhookSecret === null) return null
  const currency = String(params['currency'])
  return { type: name, name: instanceName, apiKey, webhookSecret, currency, timeoutMs }
}
