/** An orderly stop while the disk is full, under load: nothing acknowledged is lost. */
import { afterEach, describe, expect, it } from 'vitest'
import { FIRST_SID, populate } from '../../bench/population.ts'
import { mongoSocketIn, mongoUrlOf } from '../../src/cli/stores.ts'
import { runDirFor } from '../../src/embedded/run-dir.ts'
import { createProduct, isAlive, type Product, processesWith, type Started } from '../cli/product.ts'
import { mountProblem, mountSmallDisk, type SmallDisk } from '../support/small-disk.ts'
import { waitUntil } from '../support/wait.ts'
import { ClientBooks, type ClientLine } from './client-books.ts'
import { openBooks, withCatalog } from './exchange.ts'

const MIB = 1024 * 1024
const SUBSCRIBERS = 40
/** Bytes of data that nobody uses up. */
const DATA_PACK = 2
const CREDIT = 2 ** 45
const problem = mountProblem()
const why = problem === undefined ? '' : ` (skipped: ${problem})`

describe.skipIf(problem !== undefined)(`a stop while the disk is full${why}`, () => {
  let product: Product
  let disk: SmallDisk

  afterEach(async () => {
    disk.remove()
    await product.close()
  })

  /** Starts on a small disk, charges until it is full and Redis refuses, and goes on for a while. */
  async function fillUnderLoad(environment: Record<string, string>) {
    product = createProduct()
    disk = mountSmallDisk(product.dataDir, 160 * MIB)
    const tollgate = await product.start(environment)
    const books = new ClientBooks({ name: 'full', clients: 24, subscribers: SUBSCRIBERS })
    await populate({ ...storesOf(product), ...POPULATION })
    const load = books.run(portOf(tollgate))
    await waitUntil('the load runs', () => books.acknowledged > 2_000)
    disk.fill()
    await waitUntil('charges are refused', () => books.refused > 100)
    return { tollgate, books, load }
  }

  /** After another start: repeats and releases, and holds its books against lines and balances. */
  async function expectNothingLost(tollgate: Started, books: ClientBooks): Promise<void> {
    await books.finish(portOf(tollgate))
    await waitUntil('the audit is clean', async () => {
      const { stdout } = await product.run('audit')
      return stdout.includes('every unit is accounted for')
    })
    expect(books.differences(await linesOf(product), await spentOf(product))).toEqual([])
  }

  it.each(['everysec', 'always'])('with appendfsync %s', async (appendfsync) => {
    const environment = {
      TOLLGATE_REDIS_APPENDFSYNC: appendfsync,
      TOLLGATE_SHUTDOWN_WRITE_TIMEOUT_MS: '1000',
    }
    const { tollgate, books, load } = await fillUnderLoad(environment)
    tollgate.signal('SIGTERM')
    const { code, stdout, stderr } = await tollgate.ended
    books.stop()
    await load
    const left = processesWith(product.dataDir)
    if (appendfsync === 'everysec') {
      expect(code).toBe(1)
      expect(stderr).toMatch(/redis-server \(process \d+\) is left running/)
      expect(left).toHaveLength(1)
    } else {
      // Redis has ended itself, and nothing that it had acknowledged was in its memory only.
      expect(stdout + stderr).toMatch(/tollgate has stopped\n$/)
      expect(left).toEqual([])
    }
    disk.makeRoom()
    const again = await product.start(environment)
    if (left[0] !== undefined) expect(again.children().get('redis-server') ?? left[0]).toBe(left[0])
    await expectNothingLost(again, books)
    again.signal('SIGTERM')
    expect((await again.ended).code).toBe(0)
    expect(processesWith(product.dataDir)).toEqual([])
    for (const pid of left) expect(isAlive(pid)).toBe(false)
  })
})

const POPULATION = {
  subscribers: SUBSCRIBERS,
  subscribersPerAccount: 1,
  credits: [{ prepaidIncludeId: DATA_PACK, amount: CREDIT }],
}

function storesOf({ dataDir }: Product) {
  const runDir = runDirFor(dataDir)
  return {
    redisUrl: `unix://${runDir}/redis.sock`,
    mongoUrl: mongoUrlOf(mongoSocketIn(runDir)),
    database: 'tollgate',
  }
}

function portOf({ realtime }: Started): number {
  return Number(new URL(realtime).port)
}

async function linesOf(product: Product): Promise<ClientLine[]> {
  return withCatalog(storesOf(product), (catalog) =>
    catalog.lines.find({ type: 'realtime' }).toArray(),
  ) as Promise<ClientLine[]>
}

async function spentOf(product: Product): Promise<Map<number, number>> {
  const books = await openBooks(storesOf(product).redisUrl)
  try {
    const spent = new Map<number, number>()
    for (let index = 0; index < SUBSCRIBERS; index += 1) {
      const { buckets } = await books.ownerOf(1_001 + index, FIRST_SID + index)
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
