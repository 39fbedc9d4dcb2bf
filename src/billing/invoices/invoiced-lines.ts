/** The lines of a stored invoice, as they were when it was confirmed. */
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/records/money/bill.ts'
import type { Charged, Uninvoiced } from '../../catalog/records/usage/uninvoiced.ts'
import type { Fields } from '../../domain/fields.ts'
import { withoutTaken } from '../cycle/late-usage.ts'
import { lineReader, readTaken } from './input-lines.ts'
import { isConfirmed } from './stored-invoice.ts'

/** Fields of lines that documents show. */
const LINE_FIELDS = [
  ...['sid', 'type', 'usaget', 'usagev', 'name', 'key', 'rate', 'arate_key', 'plan', 'urt'],
  ...['invoice_label', 'description', 'label', 'start', 'end', 'aprice', 'exact', 'tax_data'],
  ...['stamp', 'final_charge', 'uninvoiced', 'prepriced'],
]

const BATCH = 1_000

/** In batches. Rejects with `CatalogUnavailableError`. */
export async function* readInvoicedLines(
  catalog: Catalog,
  invoice: BillrunDocument,
): AsyncGenerator<readonly Fields[]> {
  const { aid, billrun_key: billrun } = invoice
  const projection = Object.fromEntries(LINE_FIELDS.map((name) => [name, 1]))
  const taken = isConfirmed(invoice)
    ? await readTaken(lineReader(catalog), billrun, [aid])
    : undefined
  const plans = new PrepaidPlans(catalog)
  const batches = catalog.readBatches(
    'read the lines of an invoice',
    // A time limit for each batch: `maxTimeMS` would be one for all.
    ({ signal }) =>
      catalog.unguarded.lines.find({ aid, billrun }, { signal, projection, batchSize: BATCH }),
    { limitMs: Number.POSITIVE_INFINITY },
  )
  for await (const batch of batches as AsyncIterable<unknown> as AsyncIterable<Fields[]>) {
    yield await plans.without(taken === undefined ? batch : withoutLateUsage(batch, taken))
  }
}

/** Lines with what they charged when the invoice was confirmed: later usage is on later ones. */
function withoutLateUsage(
  lines: readonly Fields[],
  taken: Parameters<typeof withoutTaken>[1],
): readonly Fields[] {
  const former = lines.flatMap((line) => {
    const mark = line['uninvoiced'] as Uninvoiced | undefined
    if (mark === undefined) return [line]
    return mark.former === null ? [] : [{ ...line, ...mark.former }]
  })
  return withoutTaken(
    former as unknown as (Charged & { stamp: string })[],
    taken,
  ) as unknown[] as Fields[]
}

interface PlanPeriod {
  readonly name: string
  readonly from: Date
  readonly to: Date
}

/** Usage of prepaid plans was paid when it was used, and is on no invoice. */
class PrepaidPlans {
  readonly #catalog: Catalog
  /** By name; empty for other plans. */
  readonly #periods = new Map<unknown, readonly PlanPeriod[]>()

  constructor(catalog: Catalog) {
    this.#catalog = catalog
  }

  /** The other lines. */
  async without(lines: readonly Fields[]): Promise<readonly Fields[]> {
    const usage = lines.filter(({ type }) => type === 'realtime')
    const names = new Set(usage.map(({ plan }) => plan).filter((plan) => typeof plan === 'string'))
    await this.#read([...names].filter((name) => !this.#periods.has(name)))
    return lines.filter(({ type, plan, urt }) => {
      if (type !== 'realtime' || !(urt instanceof Date)) return true
      return !this.#periods.get(plan)?.some(({ from, to }) => from <= urt && urt < to)
    })
  }

  async #read(names: readonly string[]): Promise<void> {
    if (names.length === 0) return
    const filter = { name: { $in: names }, connection_type: 'prepaid', deleted: { $ne: true } }
    const projection = { name: 1, from: 1, to: 1 }
    const found = (await this.#catalog.plans
      .find(filter as never, { projection })
      .toArray()) as unknown as readonly PlanPeriod[]
    for (const name of names) {
      this.#periods.set(
        name,
        found.filter((plan) => plan.name === name),
      )
    }
  }
}
