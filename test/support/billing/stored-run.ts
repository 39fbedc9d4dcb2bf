/** Accounts for runs of the built command, and what a run has written. */
import { ObjectId } from '../../../src/catalog/collections.ts'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { addAccounts, FROM, KEY, TO } from './cycle-fixture.ts'

/** The same in each database: explanations of lines name them. */
const TAX_ID = '6a0000000000000000000001'
const PLAN_ID = '6a0000000000000000000002'

export async function withCatalog<T>(
  url: string,
  database: string,
  act: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  try {
    return await act(catalog)
  } finally {
    await catalog.close()
  }
}

/** A tax of 17 %, a plan of 100, and accounts with one subscriber each. */
export async function populate(url: string, database: string, accounts: number): Promise<void> {
  await withCatalog(url, database, async (catalog) => {
    await catalog.ensureIndexes()
    const common = { from: FROM, to: TO, rev: 1 }
    await catalog.taxes.insertOne({
      _id: new ObjectId(TAX_ID),
      ...common,
      key: 'VAT',
      rate: 0.17,
    } as never)
    await catalog.plans.insertOne({
      _id: new ObjectId(PLAN_ID),
      ...common,
      name: 'GOLD',
      price: [{ from: 0, to: 'UNLIMITED', price: 100 }],
      recurrence: { frequency: 1, start: 1 },
      upfront: false,
    } as never)
    await addAccounts(catalog, accounts)
  })
}

/** All that the run has written, without times and ids of documents. */
export function resultOf(url: string, database: string): Promise<unknown> {
  return withCatalog(url, database, async (catalog) => {
    const invoices = await catalog.billrun.find().sort({ aid: 1 }).toArray()
    const lines = await catalog.lines
      .find()
      .sort({ stamp: 1 } as never)
      .toArray()
    const run = await catalog.cycleruns.findOne({ _id: KEY })
    // Revisions of a customer system have the names in another spelling, too.
    const kept = (name: string, value: unknown) =>
      name === 'first_name' || name === 'last_name' ? undefined : value
    return JSON.parse(
      JSON.stringify({
        invoices: invoices.map(({ _id: _, creation_time: __, ...rest }) => rest),
        lines: (lines as unknown as Record<string, unknown>[]).map(
          ({ _id: _, process_time: __, ...rest }) => rest,
        ),
        counters: await catalog.counters.find().toArray(),
        voids: await catalog.voidinvoices.countDocuments(),
        parked: await catalog.cycleparked.find().toArray(),
        counts: run?.counts,
        state: run?.state,
      }),
      kept,
    ) as unknown
  })
}
