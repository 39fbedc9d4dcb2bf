/** The payment gateways of the stored settings, with opened secrets. */
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import type { CurrentSettings } from '../../catalog/settings/current-settings.ts'
import {
  PAYMENT_GATEWAYS,
  type StoredGateway,
} from '../../catalog/settings/money/gateway-settings.ts'
import type { PaymentGateway } from '../../external/payment/gateway.ts'
import type { GatewayDeps, GatewayParams, GatewayType } from '../../external/payment/gateways.ts'

type Opener = Pick<Sealer, 'open'>

export interface Gateways {
  /** Null if there is no such enabled instance, or its secrets cannot be opened. */
  get(name: string): Promise<PaymentGateway | null>
  /** The enabled instances. */
  list(): Promise<readonly StoredGateway[]>
  /** Name of an enabled instance that moves real money; null if none does. */
  live(): Promise<string | null>
}

export interface GatewaysOptions extends GatewayDeps {
  readonly settings: CurrentSettings
  readonly sealer: Opener
}

export function createGateways({ settings, sealer, ...deps }: GatewaysOptions): Gateways {
  /** One per settings: a gateway keeps its connections. */
  const made = new WeakMap<StoredGateway, PaymentGateway | null>()
  const list = () => settings.get(PAYMENT_GATEWAYS)
  return {
    list,
    async live() {
      const isLive = (each: StoredGateway) => each.type.isLive(openedParams(each, sealer))
      return (await list()).find(isLive)?.instanceName ?? null
    },
    async get(name) {
      const found = (await list()).find(({ instanceName }) => instanceName === name)
      if (found === undefined) return null
      const known = made.get(found)
      if (known !== undefined) return known
      const { type, instanceName } = found
      const params = openedParams(found, sealer)
      const gateway = isComplete(type, params) ? type.create(instanceName, params, deps) : null
      made.set(found, gateway)
      return gateway
    },
  }
}

/** Parameters with opened secrets; null in place of one that cannot be opened. */
function openedParams({ type, params }: StoredGateway, { open }: Opener): GatewayParams {
  const secrets = type.secrets.filter((name) => params[name] !== undefined)
  const opened = secrets.map((name) => [name, open(String(params[name]))])
  return { ...params, ...Object.fromEntries(opened) }
}

/** True if all secrets could be opened, and no generated one is missing. */
function isComplete({ secrets, generated }: GatewayType, params: GatewayParams): boolean {
  return secrets.every((name) => params[name] !== null) && generated.every((name) => params[name])
}
