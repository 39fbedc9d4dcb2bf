/** Shared parts of the forms of the catalogue. */
import type { Issue, Refusal } from '../../api/errors.ts'
import type { Fields } from '../../api/records.ts'
import { type Schema, type Schemas, withNumbers } from '../../parts/document/schemas.ts'
import { TierPlot } from '../../parts/document/tier-plot.tsx'
import type { Validation } from '../../parts/document/validation.ts'
import { type Document, textOf, type ValuePath, valueAt } from '../../parts/document/values.ts'
import { Refused } from '../../parts/state.tsx'
import { t } from '../../words/words.ts'
import type { Collection } from './data.ts'

/** Ids, dates and versions, which have their own actions. */
export const HIDDEN: readonly string[] = [
  ...['_id', 'revision_info', 'from', 'to', 'creation_time', 'warnings'],
]

export function schemaOf(schemas: Schemas, { name }: Collection): Schema {
  return schemas[`${name}.create.update`] ?? {}
}

/** As it is written: amounts that were typed are numbers again. */
export function written(schemas: Schemas, collection: Collection, document: Document): Document {
  return withNumbers(schemas, schemaOf(schemas, collection), document) as Document
}

/** Drops fields that are changed by other actions (dates, id, version). */
export function termsOf(revision: Fields): Document {
  return Object.fromEntries(Object.entries(revision).filter(([name]) => !HIDDEN.includes(name)))
}

/** The plot beside tiers; `base` is the revision before the edit. */
export function plotOf(document: Document, base: Document | null) {
  return (tiers: readonly Document[], path: ValuePath) => {
    const { rate: _, bands: __, ...terms } = valueAt(document, path.slice(0, -1)) as Document
    const isUsage = path.at(-1) === 'rate'
    const before = base === null ? undefined : valueAt(base, path)
    return (
      <TierPlot
        key={textOf(path)}
        price={isUsage ? { ...terms, rate: tiers } : {}}
        tiers={tiers}
        before={Array.isArray(before) ? before : null}
        method={String(document['pricing_method'] ?? 'tiered')}
        usaget={isUsage ? String(path[1]) : null}
      />
    )
  }
}

interface MessagesProps {
  readonly validation: Validation
  readonly refusal: Refusal | null
  /** Fields that the editor shows: their messages stand beside them. */
  readonly document: Document
}

/** Messages about the write as a whole, and about fields that are not shown. */
export function Messages({ validation, refusal, document }: MessagesProps) {
  const visible = refusal === null ? validation.refusal : null
  const errors = messagesOf(validation, refusal)
  const elsewhere = errors.filter(({ path }) => valueAt(document, path.split('.')) === undefined)
  return (
    <>
      {visible !== null && <Refused refusal={visible} />}
      {elsewhere.length + validation.warnings.length > 0 && (
        <ul class="listed" aria-label={t('catalogue.messages')}>
          {elsewhere.map(({ path, why }) => (
            <li key={`${path} ${why}`} class="error">
              {path} {why}
            </li>
          ))}
          {validation.warnings.map((warning) => (
            <li key={warning}>{warning}</li>
          ))}
        </ul>
      )}
    </>
  )
}

export function messagesOf(validation: Validation, refusal: Refusal | null): readonly Issue[] {
  return validation.errors.length > 0 ? validation.errors : (refusal?.fields ?? [])
}
