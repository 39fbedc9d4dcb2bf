/** Composition of the entity API: stores, rules and recovery. */
import type { Catalog } from '../catalog/connection.ts'
import { type ChangeStores, recoverAbandoned } from '../catalog/revisions/entity-changes.ts'
import { sealerOf } from '../catalog/settings/secret-keys.ts'
import type { Config } from '../config/schema.ts'
import type { Ledger } from '../ledger/ledger.ts'
import type { Clock } from '../runtime/clock.ts'
import type { Logger } from '../runtime/log.ts'
import { balanceActions } from './balances/actions.ts'
import { planTransfer } from './balances/transfer.ts'
import type { EntityApi } from './entities/api.ts'
import { createCurrentFields } from './entities/fields/current.ts'
import { billActions } from './entities/records/bills.ts'
import { lineActions } from './entities/records/lines.ts'
import type { EntityStores } from './entities/requests/entity-request.ts'
import { createRules } from './entities/rules/rules.ts'
import { type FollowUp, runFollowUp } from './follow-ups.ts'
import { profileFenceOf } from './profile-fence.ts'

export interface EntityApiOptions {
  catalog: Catalog
  ledger: Ledger
  clock: Clock
  config: Config
  log: Pick<Logger, 'warn' | 'error' | 'info'>
}

export function createEntityApi(options: EntityApiOptions): EntityApi {
  const { catalog, clock, config } = options
  const stores = entityStoresOf(options)
  return {
    stores,
    fields: createCurrentFields(catalog, clock, config),
    recordActions: {
      balances: balanceActions(stores),
      lines: lineActions(stores),
      bills: billActions(stores),
    },
  }
}

export function entityStoresOf(options: EntityApiOptions): EntityStores {
  const { catalog, ledger, clock, config, log } = options
  return {
    catalog,
    ledger,
    clock,
    config,
    log,
    sealer: sealerOf(config),
    rules: createRules({ defaultTax: config.rating.defaultTax }),
    fence: profileFenceOf(ledger, clock),
    planTransfer: async (move) => {
      return { kind: 'transfer', plan: await planTransfer(ledger, move) } satisfies FollowUp
    },
    runFollowUp: (followUp) => runFollowUp(options, followUp as FollowUp, log),
  }
}

export interface Repairs {
  /** Whether the changes of dead processes have been recovered at least once. */
  hasRun(): boolean
  stop(): Promise<void>
}

const REPAIR_MS = 5000
/** Until the first successful recovery the process is not ready. */
const RETRY_MS = 500

/**
 * Recovers unfinished changes of dead processes, immediately and every few seconds; retries if a
 * store is unavailable.
 */
export function startRepairs(stores: ChangeStores, log: Pick<Logger, 'info' | 'warn'>): Repairs {
  let isStopped = false
  let hasRun = false
  let timer: NodeJS.Timeout | undefined
  const recover = async (): Promise<void> => {
    try {
      const repaired = await recoverAbandoned(stores)
      hasRun = true
      if (repaired > 0) log.info({ repaired }, 'recovered changes of dead processes')
    } catch (error) {
      log.warn({ err: error }, 'cannot recover changes of dead processes; retrying')
    }
    if (!isStopped) timer = setTimeout(next, hasRun ? REPAIR_MS : RETRY_MS)
  }
  let running = Promise.resolve()
  const next = () => {
    running = recover()
  }
  next()
  return {
    hasRun: () => hasRun,
    async stop() {
      isStopped = true
      clearTimeout(timer)
      await running
    },
  }
}
