/** Stored taxes and tax settings, to determine the tax that charging would apply to a rate. */
import { revisionAt, type TaxRevision } from '../../domain/catalogue.ts'
import { FieldError } from '../../domain/fields.ts'
import { hasNoTax, type TaxContext } from '../../rating/price.ts'
import { createTaxMapping } from '../../rating/tax-mapping.ts'
import type { RawDocument } from '../compile/document.ts'
import { compileRate } from '../compile/rate.ts'
import { compileTax } from '../compile/tax.ts'
import type { Catalog } from '../connection.ts'
import { type InstalledTaxation, taxationOf } from '../settings/money/taxation-settings.ts'
import { readCategory } from '../settings/stored-config.ts'

/**
 * Rejects with `FieldError` if the stored settings are invalid, or with `CatalogUnavailableError`.
 * Taxes that do not compile are left out, as in charging.
 */
export async function readTaxContext(
  catalog: Catalog,
  installed: InstalledTaxation,
): Promise<TaxContext> {
  const [{ value }, documents] = await Promise.all([
    readCategory(catalog, 'taxation'),
    catalog.reads.taxes.find({ deleted: { $ne: true } }).toArray(),
  ])
  const { defaultTax, taxPriorities } = taxationOf(value, installed)
  const taxes = new Map<string, TaxRevision[]>()
  for (const document of documents) {
    const tax = compiledOrNull(() => compileTax(document as RawDocument))
    if (tax !== null) taxes.set(tax.key, [...(taxes.get(tax.key) ?? []), tax])
  }
  return { taxes, defaultTax, mapTax: createTaxMapping(taxPriorities, taxes) }
}

/** Whether no tax is determined for a stored rate, now or at its start. */
export function isUntaxed(context: TaxContext, document: RawDocument, nowMs: number): boolean {
  const rate = compiledOrNull(() => compileRate(document))
  return rate !== null && hasNoTax(context, rate, Math.max(nowMs, rate.fromMs))
}

/** Keys of taxes that a stored rate refers to and that are not valid now or at its start. */
export function missingTaxes(context: TaxContext, document: RawDocument, nowMs: number): string[] {
  const rate = compiledOrNull(() => compileRate(document))
  if (rate === null) return []
  const atMs = Math.max(nowMs, rate.fromMs)
  const named = rate.taxHints.flatMap(({ taxation, customTax }) =>
    taxation === 'custom' ? [customTax] : [],
  )
  return named.filter((key) => revisionAt(context.taxes.get(key), atMs) === null)
}

function compiledOrNull<T>(compile: () => T): T | null {
  try {
    return compile()
  } catch (error) {
    if (error instanceof FieldError) return null
    throw error
  }
}
