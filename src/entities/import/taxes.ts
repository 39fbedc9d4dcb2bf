/** Checks the taxes in rows of rates: usage with an unknown tax would not be taxed. */
import { fieldRule } from '../../requests/errors.ts'
import { hasTrait } from '../definitions/traits.ts'
import { valueIn } from '../export/cells.ts'
import { NOT_DELETED } from '../revisions.ts'
import { quotedExcerpt } from './cells.ts'
import type { ImportJob } from './job.ts'
import type { ValidUnit } from './unit.ts'

/** Throws `EntityRuleError` if the unit refers to a tax that does not exist. */
export type TaxCheck = (unit: ValidUnit) => void

/** One read for all units. */
export async function taxCheck(
  { stores, definition }: ImportJob,
  units: readonly ValidUnit[],
): Promise<TaxCheck> {
  const taxKeys = hasTrait(definition, 'hasPriceLines') ? units.map(customTax) : []
  const keys = [...new Set(taxKeys)].filter((key) => key !== '')
  if (keys.length === 0) return () => undefined
  const found = await stores.catalog.taxes
    .find({ key: { $in: keys }, ...NOT_DELETED }, { projection: { key: 1 } })
    .toArray()
  const known = new Set(found.map(({ key }) => key))
  return (unit) => {
    const key = customTax(unit)
    if (key !== '' && !known.has(key))
      throw fieldRule('tax:', `there is no tax ${quotedExcerpt(key)}`)
  }
}

function customTax({ update }: ValidUnit): string {
  const key = valueIn(update, 'tax.0.custom_tax')
  return typeof key === 'string' ? key : ''
}
