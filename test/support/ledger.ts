/** A ledger on a Redis that may already have one. */
import { beginEpoch } from '../../src/ledger/install.ts'
import { createLedger, type Ledger, type LedgerSettings } from '../../src/ledger/ledger.ts'
import type { RedisConnection } from '../../src/store/redis.ts'

/** Bytes of stream entries: more than a test writes. */
export const READ_BYTES = 1_000_000

/** Tests that share a Redis share its data, whatever their settings. */
export const TEST_EPOCH = '1-test'

export async function openTestLedger(
  redis: RedisConnection,
  settings: LedgerSettings,
  token: number,
): Promise<Ledger> {
  const ledger = createLedger(redis, settings, token)
  await begin(ledger)
  return ledger
}

/** Deletes all data, and installs an empty ledger. */
export async function emptyLedger(ledger: Ledger): Promise<void> {
  await ledger.redis.onEachMaster((master) => master.flushall())
  await begin(ledger)
}

async function begin({ redis, keys }: Ledger): Promise<void> {
  const all = Array.from({ length: keys.partitions }, (_, partition) => partition)
  await beginEpoch(redis, keys, all, TEST_EPOCH)
}
