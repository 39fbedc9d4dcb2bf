/** Warnings about the taxes of written rates and taxes. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { isUntaxed, readTaxContext } from '../../catalog/feed/stored-taxes.ts'
import { FieldError, type Fields } from '../../domain/fields.ts'
import type { TaxContext } from '../../rating/price.ts'
import type { ActionName } from '../definitions/definition.ts'
import type { CollectionRules, RuleSettings } from './rule.ts'

type Warnings = NonNullable<CollectionRules['writtenWarnings']>

const RATE_WRITES: ReadonlySet<ActionName> = new Set([
  ...(['create', 'update', 'closeandnew', 'reopen', 'permanentchange'] as const),
])

const HELP =
  "set a default with 'tollgate settings set taxation', or give the rate a tax, or taxation 'no'"

export function rateWarnings(settings: RuleSettings): Warnings {
  return async (rate, context) => {
    if (!RATE_WRITES.has(context.action)) return []
    return warnings(settings, context, (taxes) =>
      isUntaxed(taxes, rate as RawDocument, context.nowMs)
        ? `rate ${rate['key']} has no tax, and there is no default tax: it is not taxed; ${HELP}`
        : null,
    )
  }
}

export function taxWarnings(settings: RuleSettings): Warnings {
  return async (tax, context) => {
    if (context.action !== 'create') return []
    return warnings(settings, context, ({ defaultTax }) =>
      defaultTax === null ? noDefault(tax) : null,
    )
  }
}

async function warnings(
  { config }: RuleSettings,
  { catalog }: Parameters<Warnings>[1],
  warningOf: (taxes: TaxContext) => string | null,
): Promise<string[]> {
  try {
    const warning = warningOf(await readTaxContext(catalog, config.rating))
    return warning === null ? [] : [warning]
  } catch (error) {
    if (error instanceof FieldError) return [`stored: ${error.message}`]
    throw error
  }
}

function noDefault({ key }: Fields): string {
  return (
    `there is no default tax: rates without a tax are not taxed; ` +
    `make ${key} the default with 'tollgate settings set taxation'`
  )
}
