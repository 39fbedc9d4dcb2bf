/**
 * The compiled catalogue: what the hot path needs of the operator's entities, immutable, looked up
 * by key and instant. Revisions of one key are sorted by `fromMs` and do not overlap.
 */
import type { BucketKind } from './bucket.ts'
import type { Tariff } from './tariff.ts'

export interface Revision {
  /** Identity of the revision, for segment keys and lines. */
  id: string
  /** Validity [fromMs, toMs). */
  fromMs: number
  toMs: number
}

/** The prices of one usage type at one rate. */
export interface RateUsage {
  base: Tariff | null
  /** Prices of certain plans, by plan name. */
  plans: ReadonlyMap<string, Tariff>
}

export interface RateRevision extends Revision {
  key: string
  usages: ReadonlyMap<string, RateUsage>
  /** Tariff category: `retail`, or another such as `wholesale`. */
  category: string
  /** Of a category other than retail: its price is added to the charge. */
  addToRetail: boolean
  /** Only for subscribers of this play; empty for all. */
  play: string
  /** What matching rules may compare: the members of `params`, and other fields by their name. */
  params: Readonly<Record<string, unknown>>
}

export interface PlanRevision extends Revision {
  name: string
  connectionType: 'prepaid' | 'postpaid'
  /** Rate keys that subscribers of this plan may not use. */
  disallowedRates: ReadonlySet<string>
}

/** Definition of a bucket (`prepaidincludes`). */
export interface PrepaidInclude extends Revision {
  externalId: number
  name: string
  kind: BucketKind
  /** Usage type it pays for; empty for `totalCost`. */
  usaget: string
  priority: number
  /** True: its buckets belong to the account (sid 0). */
  shared: boolean
  /** True: its buckets never end. */
  unlimited: boolean
}

export interface Catalogue {
  /** Grows with every change. */
  revision: number
  rates: ReadonlyMap<string, readonly RateRevision[]>
  plans: ReadonlyMap<string, readonly PlanRevision[]>
  prepaidIncludes: ReadonlyMap<number, readonly PrepaidInclude[]>
}

/** What charging needs to know of a subscriber at an instant. */
export interface SubscriberProfile extends Revision {
  aid: number
  sid: number
  plan: string
  barred: boolean
}

/** The revision that holds an instant, or null. */
export function revisionAt<T extends Revision>(
  revisions: readonly T[] | undefined,
  atMs: number,
): T | null {
  if (revisions === undefined) return null
  for (const revision of revisions) {
    if (atMs >= revision.fromMs && atMs < revision.toMs) return revision
  }
  return null
}

/** A field of a document by its dotted path; undefined if it is absent. */
export function fieldAt(document: Readonly<Record<string, unknown>>, path: string): unknown {
  let value: unknown = document
  for (const step of path.split('.')) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, step)) return undefined
    value = (value as Readonly<Record<string, unknown>>)[step]
  }
  return value
}
