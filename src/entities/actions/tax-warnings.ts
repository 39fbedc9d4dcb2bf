/** Warnings about the taxes of written rates and taxes. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { isUntaxed, readTaxContext } from '../../catalog/feed/stored-taxes.ts'
import { FieldError } from '../../domain/fields.ts'
import type { ActionName, CollectionDefinition } from '../definitions/definition.ts'
import type { EntityStores, WriteResult } from '../requests/entity-request.ts'

const WRITES: ReadonlySet<ActionName> = new Set([
  ...(['create', 'update', 'closeandnew', 'reopen', 'permanentchange'] as const),
])

const HELP =
  "set a default with 'tollgate settings set taxation', or give the rate a tax, or taxation 'no'"

/** One warning per response, regardless of the number of revisions written. */
export async function taxWarnings(
  { catalog, config, clock }: EntityStores,
  { name }: CollectionDefinition,
  action: ActionName,
  { entity }: WriteResult,
): Promise<string[]> {
  const isTax = name === 'taxes' && action === 'create'
  const isRate = name === 'rates' && WRITES.has(action)
  if ((!isTax && !isRate) || entity === null || Array.isArray(entity)) return []
  try {
    const context = await readTaxContext(catalog, config.rating)
    if (isTax) return context.defaultTax === null ? [noDefault(entity)] : []
    if (!isUntaxed(context, entity as RawDocument, clock.nowMs())) return []
    return [
      `rate ${keyOf(entity)} has no tax, and there is no default tax: it is not taxed; ${HELP}`,
    ]
  } catch (error) {
    if (error instanceof FieldError) return [`stored: ${error.message}`]
    throw error
  }
}

function noDefault(entity: object): string {
  const how = "'tollgate settings set taxation'"
  return (
    `there is no default tax: rates without a tax are not taxed; ` +
    `make ${keyOf(entity)} the default with ${how}`
  )
}

function keyOf(entity: object): string {
  return String((entity as { key?: unknown }).key)
}
