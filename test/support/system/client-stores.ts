/** Lines and balances in the stores of a product, to be compared with the record of a client. */

import { mongoSocketIn, mongoUrlOf } from '../../../src/cli/stores.ts'
import { runDirFor } from '../../../src/embedded/run-dir.ts'
import type { Product, Started } from '../cli/product.ts'
import { FIRST_AID, FIRST_SID } from '../product/population.ts'
import type { ClientLine } from './client-ledger.ts'
import { openLedgerReader, withCatalog } from './exchange.ts'

/** Subscribers of one client. */
export const SUBSCRIBERS = 40
/** Bytes of data that no test uses up. */
const DATA_PACK = 2
const CREDIT = 2 ** 45

export const POPULATION = {
  subscribers: SUBSCRIBERS,
  subscribersPerAccount: 1,
  credits: [{ prepaidIncludeId: DATA_PACK, amount: CREDIT }],
}

export interface StoreAddresses {
  redisUrl: string
  mongoUrl: string
  database: string
}

/** The embedded stores of `tollgate start`. */
export function storesOf({ dataDir }: Product): StoreAddresses {
  const runDir = runDirFor(dataDir)
  return {
    redisUrl: `unix://${runDir}/redis.sock`,
    mongoUrl: mongoUrlOf(mongoSocketIn(runDir)),
    database: 'tollgate',
  }
}

export function portOf({ realtime }: Started): number {
  return Number(new URL(realtime).port)
}

/** Lines of the subscribers of the n-th client, from 0. */
export async function linesOf(stores: StoreAddresses, client = 0): Promise<ClientLine[]> {
  const first = FIRST_SID + client * SUBSCRIBERS
  const sid = { $gte: first, $lt: first + SUBSCRIBERS }
  return withCatalog(stores, (catalog) =>
    catalog.lines.find({ type: 'realtime', sid }).toArray(),
  ) as Promise<ClientLine[]>
}

/** Bytes that these subscribers have spent. */
export async function spentOf(stores: StoreAddresses, client = 0): Promise<Map<number, number>> {
  const reader = await openLedgerReader(stores.redisUrl)
  try {
    const spent = new Map<number, number>()
    const first = client * SUBSCRIBERS
    for (let index = first; index < first + SUBSCRIBERS; index += 1) {
      const { buckets } = await reader.ownerOf(FIRST_AID + index, FIRST_SID + index)
      const data = buckets.filter(({ prepaidIncludeId }) => prepaidIncludeId === DATA_PACK)
      spent.set(
        FIRST_SID + index,
        data.reduce((sum, bucket) => sum + bucket.spent, 0),
      )
    }
    return spent
  } finally {
    await reader.close()
  }
}
