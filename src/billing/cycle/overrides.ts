/**
 * Revisions of plans and services as they apply to one holder: with the overrides of its account,
 * then its own. Pure.
 */
import { factsOf, type RawDocument } from '../../catalog/compile/document.ts'
import { conditionsAt } from '../../catalog/compile/overrides.ts'
import type { Condition } from '../../domain/catalogue.ts'
import { arrayAt, type Fields, isEmpty, objectAt, textAt } from '../../domain/fields.ts'
import { meets } from '../../rating/conditions.ts'
import type { RevisionsByKey, StoredRevision } from './input.ts'

interface StoredOverride {
  readonly type: string
  readonly key: string
  /** `service_id`; empty for every instance of the service. */
  readonly id: string
  readonly conditions: readonly Condition[]
  readonly value: Fields
}

/** A plan or an instance of a service, as overrides select it. */
export interface Instance {
  readonly kind: 'plan' | 'service'
  readonly name: string
  readonly quantity: number
  readonly serviceId?: string
}

/** Holders whose overrides apply, in their order: the account, then the subscriber. */
type Holders = readonly (StoredRevision | null)[]

/** The revision in force at an instant; otherwise the last one before it, then null. */
export function revisionBefore(
  revisions: RevisionsByKey,
  name: string,
  atMs: number,
): StoredRevision | null {
  const all = revisions.get(name) ?? []
  return all.findLast(({ from }) => from.getTime() <= atMs) ?? null
}

/** A copy with replaced fields; the document itself if no override applies. */
export function withOverrides(
  document: StoredRevision,
  instance: Instance,
  holders: Holders,
): StoredRevision {
  let result = document
  for (const holder of holders) {
    for (const override of holder === null ? [] : overridesOf(holder)) {
      if (selects(override, instance, document)) result = { ...result, ...override.value }
    }
  }
  return result
}

function selects(override: StoredOverride, instance: Instance, document: StoredRevision): boolean {
  const { kind, name, quantity, serviceId } = instance
  if (override.type !== kind || override.key !== name) return false
  if (override.id !== '' && override.id !== (serviceId ?? '')) return false
  if (override.conditions.length === 0) return true
  const facts = { ...factsOf(document as unknown as RawDocument), quantity }
  const id = serviceId === undefined ? {} : { service_id: serviceId }
  return meets(override.conditions, { ...facts, ...id })
}

const compiled = new WeakMap<StoredRevision, readonly StoredOverride[]>()

/** Throws `FieldError` with the path of the field. */
function overridesOf(holder: StoredRevision): readonly StoredOverride[] {
  const { overrides } = holder
  if (isEmpty(overrides)) return []
  let found = compiled.get(holder)
  if (found === undefined) {
    found = arrayAt(overrides, 'overrides').map((entry, index) => {
      const at = `overrides.${index}`
      const { type, key, id, condition, value } = objectAt(entry, at)
      return {
        type: textAt(type, `${at}.type`),
        key: textAt(key, `${at}.key`),
        id: isEmpty(id) ? '' : String(id),
        conditions: conditionsAt(condition, `${at}.condition`),
        value: isEmpty(value) ? {} : objectAt(value, `${at}.value`),
      }
    })
    compiled.set(holder, found)
  }
  return found
}
