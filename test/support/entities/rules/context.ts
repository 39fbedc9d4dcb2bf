/** The context of rules: a real catalogue, and times that a test sets. */
import { STORED_CUSTOMERS } from '../../../../src/billing/customer-lookup.ts'
import { NODE_ACTOR } from '../../../../src/catalog/actor.ts'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import type { RawDocument } from '../../../../src/catalog/compile/document.ts'
import type { Catalog } from '../../../../src/catalog/connection.ts'
import { createSealer } from '../../../../src/catalog/sealing/sealing.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import { FOREVER_MS } from '../../../../src/domain/time.ts'
import type { CollectionRules, RuleContext } from '../../../../src/entities/rules/rule.ts'
import { createRules } from '../../../../src/entities/rules/rules.ts'
import type { FieldChanges } from '../../../../src/entities/timeline/set-fields.ts'
import type { Ledger } from '../../../../src/ledger/ledger.ts'
import { PREPAID_RULES } from '../../../../src/prepaid/entity-rules.ts'
import { DISPLAY, EntityRuleError } from '../../../../src/requests/errors.ts'

export { DISPLAY }
export const NOW_MS = Date.UTC(2026, 2, 10, 12)
export const day = (text: string) => new Date(`${text}T00:00:00Z`)

const config = loadConfig({ env: { TOLLGATE_RATING_DEFAULT_TAX: 'VAT' } })

export const RULES: Readonly<Record<string, CollectionRules>> = {
  ...createRules({ config, sealer: createSealer('test') }),
  ...PREPAID_RULES,
}

export function contextOf(catalog: Catalog, more: Partial<RuleContext> = {}): RuleContext {
  return {
    catalog,
    // No rule reads it.
    ledger: null as unknown as Ledger,
    lookup: STORED_CUSTOMERS,
    action: 'create',
    nowMs: NOW_MS,
    zone: 'UTC',
    cycleDay: 1,
    fromMs: NOW_MS,
    actor: NODE_ACTOR,
    ...more,
  }
}

/** A revision from 2026 on. */
export function documentOf(fields: Record<string, unknown>): RawDocument {
  const period = { from: day('2026-01-01'), to: new Date(FOREVER_MS) }
  return { _id: new ObjectId(), rev: 1, ...period, ...fields }
}

export function sets(set: Record<string, unknown>): FieldChanges {
  return { set, push: [], pull: [] }
}

export function prepare(
  collection: string,
  set: Record<string, unknown>,
  context: RuleContext,
  target: RawDocument | null = null,
): Promise<FieldChanges> {
  const rules = RULES[collection]
  return rules?.prepare?.(sets(set), target, context) ?? Promise.resolve(sets(set))
}

/** Checks a new document, or a change of the stored one. */
export async function check(
  collection: string,
  fields: Record<string, unknown>,
  context: RuleContext,
  stored: RawDocument | null = null,
): Promise<void> {
  await RULES[collection]?.check?.(documentOf(fields), stored, context)
}

export async function checkUnused(
  collection: string,
  document: RawDocument,
  context: RuleContext,
): Promise<void> {
  await RULES[collection]?.checkUnused?.(document, context)
}

/** Display code and text of the `FieldError` of the rejection; null if it resolves. */
export async function refusal(promise: Promise<unknown>): Promise<[number, string] | null> {
  try {
    await promise
    return null
  } catch (error) {
    if (error instanceof EntityRuleError) return [error.displayCode, error.message]
    throw error
  }
}
