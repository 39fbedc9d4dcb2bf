/** Visits the sealed secrets of cards: in accounts, and in charges whose outcome is open. */
import type { Catalog } from '../connection.ts'
import { mapGatewaySecrets } from '../sealing/payment-gateway.ts'

/** Returns the replacement of a secret. */
type CardVisit = (kind: 'card' | 'charge', name: string, text: string) => string

const PAGE_SIZE = 500

/** Stores the replacements, each unless the document was changed meanwhile. */
export async function visitCards(catalog: Catalog, visit: CardVisit): Promise<void> {
  await visitAccounts(catalog, visit)
  await visitCharges(catalog, visit)
}

async function visitAccounts(catalog: Catalog, visit: CardVisit): Promise<void> {
  const named = { 'payment_gateway.active.name': { $gt: '' } }
  let after: unknown
  for (;;) {
    const filter = { ...named, ...(after !== undefined && { _id: { $gt: after } }) }
    const page = await catalog.subscribers
      .find(filter as object, { projection: { aid: 1, payment_gateway: 1 } })
      .sort({ _id: 1 })
      .limit(PAGE_SIZE)
      .toArray()
    for (const { _id, ...account } of page) {
      const { aid, payment_gateway: gateway } = account as Record<string, unknown>
      const replaced = mapGatewaySecrets(gateway, (text) => visit('card', `account ${aid}`, text))
      if (JSON.stringify(replaced) === JSON.stringify(gateway)) continue
      await catalog.subscribers.updateOne(
        { _id, payment_gateway: gateway } as object,
        { $set: { payment_gateway: replaced } } as object,
      )
    }
    if (page.length < PAGE_SIZE) return
    after = page.at(-1)?._id
  }
}

async function visitCharges(catalog: Catalog, visit: CardVisit): Promise<void> {
  const open = await catalog.gatewaycharges
    .find({ card: { $gt: '' } }, { projection: { card: 1 } })
    .toArray()
  for (const { _id, card } of open) {
    const next = visit('charge', _id, card)
    if (next === card) continue
    await catalog.gatewaycharges.updateOne({ _id, card }, { $set: { card: next } })
  }
}
