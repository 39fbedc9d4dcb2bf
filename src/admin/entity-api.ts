/** Composition of the entity API: stores, rules, and what follows from changes. */
import type { CustomerLookup } from '../billing/customer-lookup.ts'
import type { Catalog } from '../catalog/connection.ts'
import { repeatingReads } from '../catalog/repeating-reads.ts'
import { sealerOf } from '../catalog/sealing/secret-keys.ts'
import type { Config } from '../config/schema.ts'
import type { EntityApi } from '../entities/api.ts'
import { createCurrentFields } from '../entities/fields/current.ts'
import { billActions } from '../entities/records/bills.ts'
import { eventActions } from '../entities/records/events.ts'
import { lineActions } from '../entities/records/lines.ts'
import type { EntityStores } from '../entities/requests/entity-request.ts'
import { createRules } from '../entities/rules/rules.ts'
import { requestErasure } from '../jobs/privacy/request.ts'
import type { Ledger } from '../ledger/ledger.ts'
import { balanceActions } from '../prepaid/balance-actions.ts'
import type { CardGuesses } from '../prepaid/cards/guesses.ts'
import { PREPAID_RULES } from '../prepaid/entity-rules.ts'
import { REPORT_RULES } from '../reports/entity-rules.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { followUpHandlers } from './follow-ups.ts'

export interface EntityApiOptions {
  catalog: Catalog
  /** The connection of batch work; `catalog` if absent, as in a command. */
  batch?: Catalog
  ledger: Ledger
  clock: Clock
  config: Config
  /** Subscribers of a customer system. */
  lookup: CustomerLookup
  /** Absent in a command. */
  cardGuesses?: CardGuesses
  log: Pick<Logger, 'warn' | 'error' | 'info'>
}

export function createEntityApi(options: EntityApiOptions): EntityApi {
  const { catalog, batch = catalog, clock, config } = options
  const stores = entityStoresOf(options)
  return {
    stores,
    fields: createCurrentFields(catalog, clock, config),
    recordActions: {
      balances: balanceActions({ ...stores, cardGuesses: options.cardGuesses }),
      lines: lineActions(stores),
      bills: billActions(stores),
      events: eventActions(stores),
    },
    erase: (request) => requestErasure(stores, request),
    batch: {
      stores: { ...stores, catalog: batch },
      fields: createCurrentFields(repeatingReads(batch), clock, config),
    },
  }
}

/** Registers the handlers of the outbox entries that changes of entities add. */
export function entityStoresOf(options: EntityApiOptions): EntityStores {
  const { catalog, ledger, clock, config, lookup, log } = options
  catalog.dispatcher.register(followUpHandlers(options), log)
  const sealer = sealerOf(config)
  const rules = { ...createRules({ config, sealer }), ...PREPAID_RULES, reports: REPORT_RULES }
  return { catalog, ledger, clock, config, lookup, log, rules }
}
