/** The card of an account: `payment_gateway.active` of its revision. */
import type { Catalog } from '../../catalog/connection.ts'
import { openGatewayFields } from '../../catalog/sealing/payment-gateway.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import type { CustomerLookup } from '../customer-lookup.ts'

export interface CardDeps {
  readonly catalog: Catalog
  readonly lookup: CustomerLookup
  readonly sealer: Pick<Sealer, 'open'>
}

export interface ActiveCard {
  /** Name of the instance of the gateway. */
  readonly gateway: string
  readonly cardToken: string
  readonly customerId: string
  /** When the token was made. */
  readonly madeMs: number
}

/**
 * Null if the account has no card, or its secrets cannot be opened. Rejects with
 * `CustomerSystemError`.
 */
export async function activeCardOf(
  { catalog, lookup, sealer }: CardDeps,
  aid: number,
  nowMs: number,
): Promise<ActiveCard | null> {
  const customers = await lookup.accounts([aid], nowMs)
  if (customers !== null) return cardOf(customers.get(aid) ?? {}, sealer)
  const at = new Date(nowMs)
  const held = { type: 'account', aid, from: { $lte: at }, to: { $gt: at }, deleted: { $ne: true } }
  const account = await catalog.subscribers.findOne(held as object, {
    projection: { payment_gateway: 1 },
  })
  return cardOf((account ?? {}) as Fields, sealer)
}

function cardOf(account: Fields, sealer: Pick<Sealer, 'open'>): ActiveCard | null {
  const stored = account['payment_gateway']
  const active = isObject(stored) ? stored['active'] : undefined
  if (!isObject(active)) return null
  const opened = openGatewayFields(active, sealer)
  const { name, instance_name: instance = name, card_token: token, customer_id: id } = opened ?? {}
  if (typeof instance !== 'string' || typeof token !== 'string' || token === '') return null
  const made = active['generate_token_time']
  return {
    gateway: instance,
    cardToken: token,
    customerId: typeof id === 'string' ? id : '',
    madeMs: made instanceof Date ? made.getTime() : 0,
  }
}
