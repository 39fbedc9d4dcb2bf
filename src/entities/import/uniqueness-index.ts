/** Uniqueness index of a batch: the stored and pending values that conflict with its documents. */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError, fieldRule } from '../../requests/errors.ts'
import { formsOf, valueName } from '../actions/uniqueness.ts'
import { isNumbered } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import { valueIn } from '../export/cells.ts'
import { uniqueValues } from '../fields/check.ts'
import { documentsOf, NOT_DELETED } from '../revisions.ts'
import { dateText } from '../timeline/dates.ts'
import { fromOf, toOf } from '../timeline/draft.ts'
import { overlap } from '../timeline/spans.ts'
import type { ImportJob, NewRow } from './job.ts'
import type { PendingValues, ValueClaim } from './pending-values.ts'
import type { ValidUnit } from './unit.ts'

export interface UniquenessIndex {
  /**
   * Throws `EntityRuleError` if a stored document or an earlier row has a value of the document.
   */
  check(document: RawDocument, unit: ValidUnit): void
  /** Adds the values of the document. */
  add(document: RawDocument, unit: ValidUnit): void
}

interface ValueHolder extends ValueClaim {
  key: unknown
}

/** `pendingValues`: values of earlier rows. One read for the key and one for each unique field. */
export async function buildUniquenessIndex(
  job: ImportJob,
  rows: readonly NewRow[],
  pendingValues: PendingValues,
): Promise<UniquenessIndex> {
  const { definition, fields, settings, stores } = job
  const { keyField, name, duplicate } = definition
  const { isMigration } = settings
  const hasKey = isMigration || !isNumbered(definition)
  const unique = fields.filter(({ field_name: field }) => field !== keyField)
  const furtherKeys = duplicate.by === 'any' ? duplicate.fields : []
  const valuesOf = (document: Fields) => [
    ...uniqueValues(unique, document),
    ...furtherKeys.flatMap((field) =>
      field === keyField ? [] : [{ field, value: document[field] }],
    ),
  ]
  const valuesByField = new Map<string, Set<unknown>>()
  for (const { document } of rows) {
    const values = valuesOf(document)
    for (const { field, value } of [...values, ...keyOf(document)]) {
      valuesByField.set(field, (valuesByField.get(field) ?? new Set()).add(value))
    }
  }
  function keyOf(document: Fields) {
    return hasKey ? [{ field: keyField, value: document[keyField] }] : []
  }
  const holders = new Map<string, Map<string, ValueHolder[]>>()
  for (const [field, values] of valuesByField)
    holders.set(field, await holdersOf(job, field, values))

  const isByTime = isMigration || hasSeveralRevisions(job)
  return {
    check(document, unit) {
      const claim = claimOf(document, unit)
      for (const { value } of keyOf(document)) {
        const others = holders.get(keyField)?.get(valueName(value)) ?? []
        const other = others.find((each) => !isByTime || overlap(each, claim))
        if (other !== undefined && isMigration) {
          const begin = dateText(other.fromMs, stores.config.rating.timeZone)
          const text = `it overlaps the revision of ${keyField} ${value} from ${begin}`
          throw new EntityRuleError(text, { path: keyField })
        }
        const row = pendingValues.holderOf(keyField, value, claim, !isByTime)
        if (other === undefined && row === undefined) continue
        const has = other === undefined ? `row ${row} has` : `${name} has`
        const more = other === undefined ? 'too' : 'already'
        const text = `create: ${has} ${keyField} ${value} ${more}`
        throw new EntityRuleError(text, { path: keyField })
      }
      for (const { field, value } of valuesOf(document)) {
        const others = holders.get(field)?.get(valueName(value)) ?? []
        const other = others.find((each) => overlap(each, claim) && !isSame(each, document))
        const row = pendingValues.holderOf(field, value, claim)
        const whose = other === undefined ? `row ${row}` : `${keyField} ${other.key}`
        if (other === undefined && row === undefined) continue
        throw fieldRule(field, `must be unique: ${String(value)} belongs to ${whose}`)
      }
    },
    add(document, unit) {
      const claim = claimOf(document, unit)
      const values = [...valuesOf(document), ...keyOf(document)]
      for (const { field, value } of values) pendingValues.add(field, value, claim)
    },
  }

  function isSame(holder: ValueHolder, document: Fields): boolean {
    return hasKey && holder.key === document[keyField]
  }
}

/** A predefined import of rates contains several revisions of the same rate. */
function hasSeveralRevisions({ definition, settings }: ImportJob): boolean {
  return settings.type === 'predefined_mapping' && hasTrait(definition, 'hasPriceLines')
}

function claimOf(document: RawDocument, { labels: [label = ''] }: ValidUnit): ValueClaim {
  return { label, fromMs: fromOf(document), toMs: toOf(document) }
}

async function holdersOf(
  { stores: { catalog }, definition }: ImportJob,
  field: string,
  values: ReadonlySet<unknown>,
): Promise<Map<string, ValueHolder[]>> {
  const { fixed, keyField } = definition
  const filter = { ...fixed, [field]: { $in: [...values].flatMap(formsOf) }, ...NOT_DELETED }
  const projection = { [field]: 1, [keyField]: 1, from: 1, to: 1 }
  const found = (await documentsOf(catalog, definition)
    .find(filter as object, { projection })
    .toArray()) as Fields[]
  const holders = new Map<string, ValueHolder[]>()
  for (const one of found) {
    const holder = { label: '', key: one[keyField], fromMs: fromOf(one), toMs: toOf(one) }
    for (const value of [valueIn(one, field)].flat()) {
      const valueText = valueName(value)
      holders.set(valueText, [...(holders.get(valueText) ?? []), holder])
    }
  }
  return holders
}
