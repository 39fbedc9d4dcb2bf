/** Shared parts of the actions on bills and payments. */
import type { BooksWriter } from '../../billing/books/store-books.ts'
import { currencyDigits, moneyFormat } from '../../billing/currency.ts'
import type { PaymentRules } from '../../billing/payments/payment-order.ts'
import { plainActor } from '../../catalog/actor.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import { BillsSchema } from '../../catalog/settings/money/bill-settings.ts'
import { PAYMENTS } from '../../catalog/settings/money/payment-settings.ts'
import { storedOrDefaults } from '../../catalog/settings/settings-schema.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { dateOf } from '../../requests/instant.ts'
import type { ActionCall } from './action.ts'

export function writerOf(
  { catalog, config, actor, nowMs }: ActionCall,
  session: ClientSession,
  reason: string | undefined,
): BooksWriter {
  const cause = { actor: plainActor(actor), nowMs, ...(reason === undefined ? {} : { reason }) }
  const { currencyCode } = config.rating
  return { catalog, session, currencyCode, ...cause }
}

/** Decimals of the currency's smallest unit. */
export function digitsOf({ rating }: ActionCall['config']): number {
  return currencyDigits(rating.currencyCode)
}

export async function paymentRules({ catalog, config, nowMs }: ActionCall): Promise<PaymentRules> {
  const { sources, uf } = PAYMENTS.read((await readCategory(catalog, 'payments')).value).offline
  const bills = storedOrDefaults(BillsSchema, (await readCategory(catalog, 'bills')).value)
  const time = { timeZone: config.rating.timeZone, nowMs }
  const fields = [...new Set([...uf, ...bills.uf])]
  const digits = digitsOf(config)
  return {
    sources,
    userFields: fields,
    switchLinks: bills.switch_links,
    digits,
    money: moneyFormat(config.rating.currencyCode),
    dateOf: (value) => dateOf(value, time),
  }
}

/** A list; null for anything else and for an empty one. */
export function filledList(value: unknown): readonly unknown[] | null {
  return Array.isArray(value) && value.length > 0 ? value : null
}
