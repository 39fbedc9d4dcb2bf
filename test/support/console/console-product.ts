/** A product with users, as the tests of the console need it. */
import { createHash } from 'node:crypto'
import { ObjectId } from '../../../src/catalog/collections.ts'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { PASSWORDS } from '../../../src/identity/passwords.ts'
import { type Product, type ProductOptions, startProduct } from '../product/product.ts'

export const PASSWORD = 'a sentence that nobody guesses'
export const ADMIN_NAME = 'admin@example.org'
export const READER_NAME = 'reader@example.org'

export interface ConsoleProduct {
  readonly product: Product
  readonly catalog: Catalog
  /** Address of the console. */
  readonly url: string
  close(): Promise<void>
}

interface ConsoleOptions {
  /** Whether charging runs, which costs processor time even if nothing is charged. */
  readonly charges?: boolean
  readonly environment?: ProductOptions['environment']
}

export async function startConsoleProduct({
  charges = true,
  environment,
}: ConsoleOptions = {}): Promise<ConsoleProduct> {
  const product = await startProduct({
    // The sweep visits each partition every second.
    environment: {
      TOLLGATE_ADMIN_OPEN_TO: 'nobody',
      // All browsers have one address.
      TOLLGATE_ADMIN_ANONYMOUS_PERCENT: '100',
      TOLLGATE_LEDGER_PARTITIONS: '1',
      ...environment,
    },
  })
  const { mongoUrl: url, database } = product
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  const close = async () => {
    await catalog.close()
    await product.stop()
  }
  try {
    await catalog.ensureIndexes()
    await addUser(catalog, ADMIN_NAME, ['admin'])
    await addUser(catalog, READER_NAME, ['read'])
    await product.start('admin')
    if (charges) await product.start('realtime')
    return { product, catalog, url: `${product.adminUrl}/`, close }
  } catch (error) {
    await close()
    throw error
  }
}

/** With `PASSWORD`. */
export async function addUser(catalog: Catalog, username: string, roles: readonly string[]) {
  const id = createHash('sha256').update(username).digest('hex').slice(0, 24)
  const from = new Date('2026-01-01')
  await catalog.users.insertOne({
    _id: new ObjectId(id),
    rev: 1,
    username,
    password: await PASSWORDS.hash(PASSWORD),
    roles: [...roles],
    from,
    to: new Date('2170-01-01'),
    creation_time: from,
  } as never)
}
