/** Data that all accounts of a run share: settings, taxes, plans, services, discounts, charges. */
import type { CollectionReads } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { readTaxContext } from '../../catalog/feed/stored-taxes.ts'
import { BILLRUN, type BillrunSettings } from '../../catalog/settings/money/billrun-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import type { Config } from '../../config/schema.ts'
import { FieldError, type Fields, isObject } from '../../domain/fields.ts'
import type { CycleCatalogue, CycleSettings, StoredRevision } from '../cycle/compute.ts'
import { recurrenceOf } from '../cycle/cycle-key.ts'

export type RunConfig = Pick<Config, 'rating' | 'billing' | 'invoices'>

export interface RunData {
  readonly catalogue: CycleCatalogue
  readonly settings: CycleSettings
  readonly billrun: BillrunSettings
  /** The seller that invoices keep; null if none is configured. */
  readonly seller: Fields | null
}

/** Rejects with `CatalogUnavailableError`, or with `FieldError` if the taxation is invalid. */
export async function readRunData(catalog: Catalog, config: RunConfig): Promise<RunData> {
  const [plans, services, discounts, charges, taxation, seller, { value }] = await Promise.all([
    readRevisions(catalog, 'plans', 'name'),
    readRevisions(catalog, 'services', 'name'),
    readRevisions(catalog, 'discounts', 'key'),
    readRevisions(catalog, 'charges', 'key'),
    readTaxContext(catalog, config.rating),
    readSeller(catalog),
    readCategory(catalog, 'billrun'),
  ])
  const billrun = BILLRUN.read(value)
  return {
    catalogue: { plans, services, discounts, charges, taxation },
    settings: settingsOf(billrun, config),
    billrun,
    seller,
  }
}

/** Months of the longest period of a plan or service; invalid ones are left out here. */
export function longestPeriod({ plans, services }: CycleCatalogue): number {
  let longest = 1
  for (const revisions of [...plans.values(), ...services.values()]) {
    for (const { recurrence } of revisions) longest = Math.max(longest, monthsOf(recurrence))
  }
  return longest
}

function monthsOf(recurrence: unknown): number {
  try {
    return recurrenceOf(recurrence).months
  } catch (error) {
    if (error instanceof FieldError) return 1
    throw error
  }
}

/** `seller` of the stored category `invoices`; null if it is not configured. */
export async function readSeller(catalog: Catalog): Promise<Fields | null> {
  const { value } = await readCategory(catalog, 'invoices')
  const seller = isObject(value) ? value['seller'] : undefined
  return isObject(seller) ? seller : null
}

export function settingsOf(
  billrun: BillrunSettings,
  { rating, billing }: Pick<RunConfig, 'rating' | 'billing'>,
): CycleSettings {
  const { upfront, flats } = billrun
  return {
    currencyCode: rating.currencyCode,
    calendarMonthFractions: billrun.calendar_month_fractions,
    chargeIncludedServices: billrun.charge_included_services,
    reconcileRequiresPreviousRun: upfront.reconcile_requires_previous_billrun,
    fullFraction: upfront.full_fraction,
    billableNextCycle: upfront.billable_next_cycle,
    correctTax: upfront.correct_tax,
    generateZeroRefunds: flats.generate_zero_refunds,
    preponeOnTermination: billing.preponeOnTermination,
  }
}

async function readRevisions(
  catalog: Catalog,
  collection: 'plans' | 'services' | 'discounts' | 'charges',
  field: 'name' | 'key',
): Promise<Map<string, StoredRevision[]>> {
  const stored = catalog.reads[collection] as unknown as CollectionReads<StoredRevision>
  const found = await stored
    .find({ deleted: { $ne: true } } as object)
    .sort({ from: 1 })
    .toArray()
  const byKey = new Map<string, StoredRevision[]>()
  for (const document of found as StoredRevision[]) {
    const key = String(document[field])
    byKey.set(key, [...(byKey.get(key) ?? []), document])
  }
  return byKey
}
