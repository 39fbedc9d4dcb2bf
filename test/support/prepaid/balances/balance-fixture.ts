/** Subscriber 18 of account 17 with a plan, definitions of buckets, and both stores. */
import { STORED_CUSTOMERS } from '../../../../src/billing/customer-lookup.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { OwnerState } from '../../../../src/domain/bucket.ts'
import type { TransferRequest } from '../../../../src/entities/follow-ups.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import type { OperationSettings } from '../../../../src/ledger/operations.ts'
import type { BalanceDeps } from '../../../../src/prepaid/balances/loads.ts'
import {
  planTransfer,
  runTransfer,
  type Transferred,
} from '../../../../src/prepaid/balances/transfer.ts'
import { NO_RECORDS } from '../../../../src/recorder/coalesce.ts'
import { writeFlush } from '../../../../src/recorder/write.ts'
import { insertEntity } from '../../catalog/store.ts'
import { emptyLedger } from '../../ledger.ts'
import { loadOwner, NOW_MS, startTestStores, type TestStores } from '../../recorder/accounts.ts'

export interface BalanceFixture extends BalanceDeps {
  stores: TestStores
  clock: { nowMs: () => number; set(nowMs: number): void }
  /** Removes everything except indexes. */
  clear(): Promise<void>
  owner(sid: number, aid?: number): Promise<OwnerState>
  /** Writes the projection of owners, like the recorder. */
  project(...homes: [aid: number, sid: number][]): Promise<void>
  close(): Promise<void>
}

export const AID = 17
export const SID = 18

export async function openBalanceFixture(): Promise<BalanceFixture> {
  const stores = await startTestStores()
  const { ledger, catalog } = stores
  let nowMs = NOW_MS
  const env = { TOLLGATE_SECRETS_KEY: 'a key of these tests, long enough for it' }
  const { rating, billing, ledger: settings, secrets, data } = loadConfig({ env })
  return {
    stores,
    ledger,
    catalog,
    lookup: STORED_CUSTOMERS,
    config: { rating: { ...rating, timeZone: 'UTC' }, billing, ledger: settings, secrets, data },
    clock: {
      nowMs: () => nowMs,
      set(ms) {
        nowMs = ms
      },
    },
    async clear() {
      nowMs = NOW_MS
      await emptyLedger(ledger)
      const { subscribers, plans, prepaidincludes, prepaidgroups, cards, balances } = catalog
      for (const one of [subscribers, plans, prepaidincludes, prepaidgroups, cards, balances]) {
        await (one as typeof cards).deleteMany({})
      }
    },
    owner: (sid, aid = AID) => loadOwner(ledger, aid, sid),
    async project(...homes) {
      const owners = new Map<string, OwnerState>()
      for (const [aid, sid] of homes) {
        owners.set(`${aid}:${sid}`, await loadOwner(ledger, aid, sid))
      }
      const flush = { ...NO_RECORDS, owners }
      const refused = await writeFlush(catalog, flush, (id) => `INCLUDE_${id}`)
      if (refused.size > 0) throw new Error('the store refuses a balance')
    },
    close: stores.close,
  }
}

const FROM = { from: '2026-01-01' }

/** The plan limits bucket 1 to 50, and bucket 2 to a thousand units. */
export async function seedCatalogue({ catalog }: BalanceFixture): Promise<void> {
  const pp_threshold = { 1: -50, 2: '-1000' }
  await insertEntity(catalog, 'plans', { name: 'GOLD', pp_threshold })
  await insertEntity(catalog, 'subscribers', { sid: SID, aid: AID, plan: 'GOLD' })
  await insertEntity(catalog, 'subscribers', { sid: 19, aid: AID, plan: 'GOLD' })
  const money = { charging_by: 'total_cost', charging_by_usaget: 'total_cost', priority: 1 }
  const units = { charging_by: 'usagev', charging_by_usaget: 'data', priority: 50 }
  const definitions = [
    { ...money, external_id: 1, name: 'MONEY' },
    { ...units, external_id: 2, name: 'DATA_PACK' },
    { ...units, external_id: 3, name: 'FAMILY_DATA', shared: true },
    { ...money, external_id: 4, name: 'ENDLESS', unlimited: true },
  ]
  for (const one of definitions) await insertEntity(catalog, 'prepaidincludes', { ...one, ...FROM })
}

export async function seedChargingPlan(
  { catalog }: BalanceFixture,
  include: Record<string, unknown>[],
  more: Record<string, unknown> = {},
): Promise<void> {
  await insertEntity(catalog, 'prepaidgroups', { name: 'TOPUP', include, ...FROM, ...more })
}

/** A ledger whose process dies before its next write after this number of writes. */
export function dyingAfter(ledger: Ledger, writes: number): Ledger {
  let done = 0
  const commit: Ledger['commit'] = (batch, nowMs) => {
    if (done >= writes) return Promise.reject(new Error('died'))
    done += 1
    return ledger.commit(batch, nowMs)
  }
  return { ...ledger, commit }
}

export { NOW_MS }

/** Plans and runs a transfer; a repetition resumes it where it has stopped. */
export async function moveBuckets(
  ledger: Ledger,
  asked: TransferRequest,
  settings: OperationSettings,
  nowMs: number,
): Promise<Transferred> {
  return runTransfer(ledger, await planTransfer(ledger, asked), settings, nowMs)
}
