/**
 * The discounts of an account: the general ones, those that overrides and subscribers replace, and
 * those that a subscriber is forced to have. Pure; throws `FieldError` with the path of the field.
 */
import {
  type AdjustmentKind,
  type AdjustmentTerms,
  compileTerms,
} from '../../../catalog/compile/discount.ts'
import { factsOf, type RawDocument } from '../../../catalog/compile/document.ts'
import { conditionsAt } from '../../../catalog/compile/overrides.ts'
import { FieldError, type Fields, isEmpty, isObject } from '../../../domain/fields.ts'
import { meets } from '../../../rating/conditions.ts'
import type { CycleSpan } from '../lines.ts'
import { type DaySet, daysOf, intersection, NO_DAYS, union } from './days.ts'
import {
  type DaysByKey,
  type DiscountedSubscriber,
  type DiscountHolders,
  type Eligibility,
  eligibilityOf,
  type HolderRevision,
  joined,
  NOT_ELIGIBLE,
  within,
} from './eligibility.ts'

/** A discount or charge as it applies to an account or one of its subscribers. */
export interface Definition {
  readonly terms: AdjustmentTerms
  /** Key of the lines. */
  readonly key: string
  /** The only subscriber that it is for. */
  readonly sid?: number
  /** Subscribers that have another definition of it. */
  readonly except: ReadonlySet<number>
  /** Subscribers that have it whatever its conditions, with the revisions in which they do. */
  readonly forced: ReadonlyMap<number, DiscountedSubscriber>
  /** Revisions in which the subscriber has it; all if absent. */
  readonly revisions?: readonly HolderRevision[]
}

const NOBODY: ReadonlySet<number> = new Set()
const NOT_FORCED: Definition['forced'] = new Map()

/**
 * Sorted by priority, then by the end of validity, both descending. Only discounts are overridden
 * or defined by subscribers.
 */
export function definitionsOf(
  kind: AdjustmentKind,
  general: readonly AdjustmentTerms[],
  holders: DiscountHolders,
  cycle: CycleSpan,
): readonly Definition[] {
  const all =
    kind === 'conditional_charge' || isPlain(holders)
      ? general.map(plainDefinition)
      : [
          ...general.flatMap((terms) => generalDefinitions(terms, holders, cycle)),
          ...holders.subscribers.flatMap((subscriber) => ownDefinitions(subscriber, cycle)),
        ]
  return all.toSorted((a, b) => b.terms.priority - a.terms.priority || b.terms.toMs - a.terms.toMs)
}

/** Whether nobody has overrides or definitions of its own. */
function isPlain({ account, subscribers }: DiscountHolders): boolean {
  const isWithout = ({ document: { overrides, discounts } }: HolderRevision) =>
    isEmpty(overrides) && isEmpty(discounts)
  return (
    account.every(isWithout) && subscribers.every(({ revisions }) => revisions.every(isWithout))
  )
}

function plainDefinition(terms: AdjustmentTerms): Definition {
  return { terms, key: terms.key, except: NOBODY, forced: NOT_FORCED }
}

/** With its overrides: of the account for everybody, of a subscriber for that one. */
function generalDefinitions(
  general: AdjustmentTerms,
  { account, subscribers }: DiscountHolders,
  cycle: CycleSpan,
): Definition[] {
  const terms = overridden(general, account, cycle)
  const except = new Set<number>()
  const forced = new Map<number, DiscountedSubscriber>()
  const own: Definition[] = []
  for (const subscriber of subscribers) {
    const { sid, revisions } = subscriber
    const current = inCycle(revisions, cycle)
    const forcing = current.filter((revision) => entriesOf(revision).some(isForcing(terms.key)))
    const forcedOne = { ...subscriber, revisions: forcing }
    const replaced = overridden(terms, current, cycle)
    const isReplaced = replaced !== terms || current.some((one) => hasOwn(one, terms.key))
    if (isReplaced) except.add(sid)
    else if (forcing.length > 0) forced.set(sid, forcedOne)
    if (replaced === terms) continue
    const key = ownKey(terms.key, sid)
    const forcedOwn = forcing.length > 0 ? new Map([[sid, forcedOne]]) : NOT_FORCED
    own.push({ terms: replaced, key, sid, except: NOBODY, forced: forcedOwn })
  }
  return [{ terms, key: terms.key, except, forced }, ...own]
}

function ownKey(key: string, sid: number): string {
  return `SUBSCRIBER_DISCOUNT_${key}_SID_${sid}`
}

/** The terms with the overrides of the last revision that has some; the same object if none has. */
function overridden(
  terms: AdjustmentTerms,
  revisions: readonly HolderRevision[],
  cycle: CycleSpan,
): AdjustmentTerms {
  const matching = inCycle(revisions, cycle).map(({ document }) => overridesOf(document, terms))
  const values = matching.findLast(({ length }) => length > 0)
  if (values === undefined) return terms
  const document = Object.assign({}, terms.document, ...values) as Fields
  return compileTerms(terms.kind, { ...document, key: terms.key }, cycle.zone)
}

/** Values of the overrides of a discount whose condition it meets. */
function overridesOf(document: Fields, terms: AdjustmentTerms): Fields[] {
  const { overrides } = document
  if (!Array.isArray(overrides)) return []
  return overrides.flatMap((override: unknown, index) => {
    if (!isObject(override) || override['type'] !== 'discount') return []
    if (override['key'] !== terms.key) return []
    const conditions = conditionsAt(override['condition'], `overrides.${index}.condition`)
    if (!meets(conditions, factsOf(terms.document as RawDocument))) return []
    return isObject(override['value']) ? [override['value']] : []
  })
}

function inCycle(
  revisions: readonly HolderRevision[],
  cycle: CycleSpan,
): readonly HolderRevision[] {
  return revisions.filter(({ span }) => span.startMs < cycle.endMs && span.endMs > cycle.startMs)
}

function entriesOf({ document: { discounts } }: HolderRevision): readonly Fields[] {
  return Array.isArray(discounts) ? discounts.filter(isObject) : []
}

/** An entry without a subject refers to the general discount. */
function isForcing(key: string): (entry: Fields) => boolean {
  return (entry) => entry['key'] === key && isEmpty(entry['subject'])
}

function hasOwn(revision: HolderRevision, key: string): boolean {
  return entriesOf(revision).some((entry) => entry['key'] === key && !isEmpty(entry['subject']))
}

/** Discounts that a subscriber defines itself, for the time of the revisions that have them. */
function ownDefinitions({ sid, revisions }: DiscountedSubscriber, cycle: CycleSpan): Definition[] {
  const found = new Map<string, { entry: Fields; revisions: HolderRevision[]; path: string }>()
  for (const revision of inCycle(revisions, cycle)) {
    for (const [index, entry] of entriesOf(revision).entries()) {
      if (isEmpty(entry['subject'])) continue
      const same = JSON.stringify(entry)
      const known = found.get(same)
      if (known !== undefined) known.revisions.push(revision)
      else found.set(same, { entry, revisions: [revision], path: `discounts.${index}` })
    }
  }
  return [...found.values()].map(({ entry, revisions: own, path }) => {
    const terms = compiledAt(entry, path, cycle.zone)
    const key = ownKey(terms.key, sid)
    return { terms, key, sid, except: NOBODY, forced: NOT_FORCED, revisions: own }
  })
}

function compiledAt(entry: Fields, path: string, zone: string): AdjustmentTerms {
  try {
    return compileTerms('discount', entry, zone)
  } catch (error) {
    if (error instanceof FieldError) throw error.under(path)
    throw error
  }
}

/** The eligibility of the subscribers that the definition is for. */
export function definedEligibility(
  definition: Definition,
  holders: DiscountHolders,
  cycle: CycleSpan,
): Eligibility {
  const { terms, sid, except, forced, revisions } = definition
  const meant =
    sid === undefined && except.size === 0
      ? holders
      : { ...holders, subscribers: holders.subscribers.filter((one) => isFor(definition, one.sid)) }
  const eligibility = eligibilityOf(terms, meant, cycle)
  const limited =
    revisions === undefined
      ? eligibility
      : within(eligibility, () => union(...revisions.map(({ span }) => daysOf(span, cycle))))
  const own = sid === undefined ? limited : { ...limited, account: NO_DAYS }
  return forced.size === 0 ? own : joined([own, forcedEligibility(terms, forced, cycle)])
}

function isFor({ sid, except }: Definition, other: number): boolean {
  return sid === undefined ? !except.has(other) : sid === other
}

function forcedEligibility(
  { fromMs, toMs }: AdjustmentTerms,
  forced: Definition['forced'],
  cycle: CycleSpan,
): Eligibility {
  const valid = daysOf({ startMs: fromMs, endMs: toMs }, cycle)
  const subscribers = new Map<number, DaySet>()
  const plans = new Map<number, DaysByKey>()
  const services = new Map<number, DaysByKey>()
  for (const [sid, subscriber] of forced) {
    const included = subscriber.includedIn?.(cycle) ?? []
    const own = new Map<string, DaySet>()
    const held = new Map<string, DaySet>()
    const add = (map: Map<string, DaySet>, name: string, days: DaySet) =>
      map.set(name, union(map.get(name) ?? NO_DAYS, days))
    for (const { span, document } of subscriber.revisions) {
      const days = intersection(valid, daysOf(span, cycle))
      add(own, String(document['plan'] ?? ''), days)
      const entries = Array.isArray(document['services']) ? document['services'] : []
      for (const entry of [...entries, ...included]) add(held, nameOf(entry), days)
    }
    subscribers.set(sid, union(...own.values()))
    plans.set(sid, own)
    services.set(sid, held)
  }
  return { ...NOT_ELIGIBLE, subscribers, plans, services }
}

function nameOf(entry: unknown): string {
  return isObject(entry) ? String(entry['name']) : String(entry)
}
