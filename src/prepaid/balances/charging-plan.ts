/** Charging plans (`prepaidgroups`): one top-up of several buckets. */
import { ObjectId } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import type { PrepaidGroupDocument } from '../../catalog/entities/prepaid-group.ts'
import { beginOfLoad } from '../../domain/credit.ts'
import type { Fields } from '../../domain/fields.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import { expiryOf } from './expiry.ts'
import {
  type BalanceDeps,
  type BalanceTarget,
  creditOf,
  includeOf,
  isGiven,
  type Load,
  type LoadOperation,
  ownerFor,
  thresholdOf,
} from './loads.ts'

export interface PlanLoadRequest {
  target: BalanceTarget
  /** Default for plans and entries that name no operation. */
  operation: LoadOperation
  /** In place of the operations of the plan and its entries. */
  override?: LoadOperation | undefined
  expirationDate: unknown
}

/** Finds a plan by name, or by id if the text has 24 hex digits. Throws `EntityRuleError`. */
export async function findChargingPlan(
  catalog: Catalog,
  requested: unknown,
  nowMs: number,
): Promise<PrepaidGroupDocument> {
  const text = String(requested)
  const isId = /^[0-9a-fA-F]{24}$/.test(text)
  const which = isId ? { _id: new ObjectId(text) } : { name: text }
  const filter = { ...which, deleted: { $ne: true } } as const
  const found = await catalog.prepaidgroups.find(filter).sort({ from: 1 }).toArray()
  const current = found.findLast(({ from, to }) => from.getTime() <= nowMs && nowMs < to.getTime())
  if (current === undefined)
    throw new EntityRuleError(`there is no charging plan ${text} now`, 'refused')
  return current
}

/** One load per bucket, in the order of the plan. Throws `EntityRuleError` with the entry. */
export async function loadsOfPlan(
  { catalog, config }: BalanceDeps,
  plan: PrepaidGroupDocument,
  { target, operation, override, expirationDate }: PlanLoadRequest,
  nowMs: number,
): Promise<Load[]> {
  const entries = Array.isArray(plan.include) ? (plan.include as Fields[]) : []
  if (entries.length === 0)
    throw new EntityRuleError(`charging plan ${plan.name} has no bucket`, 'refused')
  const loads: Load[] = []
  for (const [index, entry] of entries.entries()) {
    const { pp_includes_external_id: externalId, pp_includes_name: name } = entry
    const key = isGiven(externalId) ? { externalId } : { name }
    const include = await includeOf(catalog, key, nowMs)
    const field = `include.${index} of charging plan ${plan.name}`
    const value = ['usagev', 'cost', 'total_cost', 'value'].map((key) => entry[key]).find(isGiven)
    const freeMax = await thresholdOf(catalog, target.plan, include, nowMs)
    const options = { unlimited: include.unlimited, expirationDate, period: periodOf(entry) }
    loads.push({
      owner: ownerFor(include, target),
      name: include.name,
      credit: {
        include,
        amount: creditOf(value, include.kind, field),
        fromMs: beginOfLoad(nowMs),
        toMs: expiryOf(options, nowMs, config.rating.timeZone),
        mode: override ?? modeOf([entry['operation'], plan.operation, operation]),
        ...(freeMax === undefined ? {} : { freeMax }),
      },
    })
  }
  return loads
}

function periodOf({ period }: Fields): string | null {
  const { duration, unit } = (period ?? {}) as Fields
  return isGiven(duration) && isGiven(unit) ? `${String(duration)} ${String(unit)}` : null
}

/** The first operation that is given; `default` counts as not given. */
function modeOf(said: readonly unknown[]): LoadOperation {
  const isMode = (one: unknown): one is LoadOperation =>
    one === 'inc' || one === 'set' || one === 'new'
  return said.find(isMode) ?? 'inc'
}
