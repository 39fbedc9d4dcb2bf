/** Reads an invoice with its lines and settings for its documents. */
import type { Catalog } from '../../catalog/connection.ts'
import type { BillrunDocument } from '../../catalog/entities/bill.ts'
import type { Charged, Uninvoiced } from '../../catalog/records/uninvoiced.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import { withoutTaken } from '../cycle/late-usage.ts'
import { lineReader, readTaken } from '../run/input-lines.ts'
import { isConfirmed } from '../run/status.ts'
import { invoiceSource, SourceLines } from './read-invoice.ts'
import type { InvoiceSource } from './source.ts'

/** Fields of lines that documents show. */
const LINE_FIELDS = [
  ...['sid', 'type', 'usaget', 'usagev', 'name', 'key', 'rate', 'arate_key', 'plan', 'urt'],
  ...['invoice_label', 'description', 'label', 'start', 'end', 'aprice', 'exact', 'tax_data'],
  ...['stamp', 'final_charge', 'uninvoiced'],
]

const BATCH = 1_000

/**
 * `document`: a stored invoice. Rejects with `BillingError` if its lines are no longer those of its
 * total, and with `CatalogUnavailableError`.
 */
export async function loadInvoiceSource(
  catalog: Catalog,
  { rating }: Pick<Config, 'rating'>,
  document: BillrunDocument,
): Promise<InvoiceSource> {
  const { aid, billrun_key: billrun } = document
  const projection = Object.fromEntries(LINE_FIELDS.map((name) => [name, 1]))
  const taken = isConfirmed(document)
    ? await readTaken(lineReader(catalog), billrun, [aid])
    : undefined
  const plans = new PrepaidPlans(catalog)
  const lines = new SourceLines()
  const batches = catalog.readBatches(
    'read the lines of an invoice',
    // A time limit for each batch: `maxTimeMS` would be one for all.
    ({ signal }) =>
      catalog.unguarded.lines.find({ aid, billrun }, { signal, projection, batchSize: BATCH }),
    { limitMs: Number.POSITIVE_INFINITY },
  )
  for await (const batch of batches as AsyncIterable<unknown> as AsyncIterable<Fields[]>) {
    lines.add(await plans.without(taken === undefined ? batch : withoutLateUsage(batch, taken)))
  }
  const { value: settings } = await readCategory(catalog, 'invoices')
  const { currencyCode, timeZone } = rating
  const dated = await withAdjustedDates(catalog, document)
  return invoiceSource(dated, lines, { settings, currencyCode, timeZone })
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

/** The invoices that a credit note corrects, with their dates. */
async function withAdjustedDates(
  catalog: Catalog,
  document: BillrunDocument,
): Promise<BillrunDocument> {
  const { aid, adjusts } = document
  if (!Array.isArray(adjusts) || adjusts.length === 0) return document
  const entries = adjusts.filter(isObject)
  const ids = entries.map(({ invoice_id: id }) => id)
  const found = await catalog.billrun
    .find({ aid, invoice_id: { $in: ids as number[] } })
    .project<Fields>({ invoice_id: 1, invoice_date: 1 })
    .toArray()
  const dates = new Map(found.map((one) => [one['invoice_id'], one['invoice_date']]))
  const dated = entries.map((entry) => ({ ...entry, invoice_date: dates.get(entry['invoice_id']) }))
  return { ...document, adjusts: dated }
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
