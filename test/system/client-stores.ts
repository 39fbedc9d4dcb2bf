/** What the books of a client are held against: the stores of a product that runs. */
import { FIRST_AID, FIRST_SID } from '../../bench/population.ts'
import { mongoSocketIn, mongoUrlOf } from '../../src/cli/stores.ts'
import { runDirFor } from '../../src/embedded/run-dir.ts'
import type { Product, Started } from '../cli/product.ts'
import type { ClientLine } from './client-books.ts'
import { openBooks, withCatalog } from './exchange.ts'

const SUBSCRIBERS = 40
/** Bytes of data that nobody uses up. */
const DATA_PACK = 2
const CREDIT = 2 ** 45

export const POPULATION = {
  subscribers: SUBSCRIBERS,
  subscribersPerAccount: 1,
  credits: [{ prepaidIncludeId: DATA_PACK, amount: CREDIT }],
}

export function storesOf({ dataDir }: Product) {
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

export async function linesOf(product: Product): Promise<ClientLine[]> {
  return withCatalog(storesOf(product), (catalog) =>
    catalog.lines.find({ type: 'realtime' }).toArray(),
  ) as Promise<ClientLine[]>
}

export async function spentOf(product: Product): Promise<Map<number, number>> {
  const books = await openBooks(storesOf(product).redisUrl)
  try {
    const spent = new Map<number, number>()
    for (let index = 0; index < SUBSCRIBERS; index += 1) {
      const { buckets } = await books.ownerOf(FIRST_AID + index, FIRST_SID + index)
      const data = buckets.filter(({ prepaidIncludeId }) => prepaidIncludeId === DATA_PACK)
      spent.set(
        FIRST_SID + index,
        data.reduce((sum, bucket) => sum + bucket.spent, 0),
      )
    }
    return spent
  } finally {
    await books.close()
  }
}
