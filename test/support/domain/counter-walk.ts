/** Walks the amounts of one owner, and what rules find at each step. */
import type { Bucket, OwnerState } from '../../../src/domain/bucket.ts'
import { CREDIT, groupCounter, UNLIMITED_TOTAL, usageTotal } from '../../../src/domain/counters.ts'
import type {
  BalanceCondition,
  BalanceRuleDocument,
} from '../../../src/domain/events/rule-documents.ts'
import {
  compileBalanceRule,
  type RuleMatch,
  SubscriberRules,
} from '../../../src/domain/events/rules.ts'
import { bucketOf, ownerOf } from './owners.ts'

const PERIOD = { fromMs: 1000, toMs: 2000, prepaidIncludeId: 0, usaget: '', credited: 0 }

/** The counter of a group of plan P, without usage. */
export function groupBucket(name: string, total: number, more: Partial<Bucket> = {}): Bucket {
  const counter = groupCounter({ holder: 'P', serviceId: 0, name }, 'group')
  const limit = total === 0 ? -1 : total
  return bucketOf({ ...PERIOD, free: 0, id: 10, counter, limit, ...more })
}

export function creditBucket(limit = UNLIMITED_TOTAL, more: Partial<Bucket> = {}): Bucket {
  return bucketOf({
    ...PERIOD,
    free: 0,
    id: 11,
    kind: 'totalCost',
    counter: CREDIT,
    limit,
    ...more,
  })
}

export function totalBucket(usaget: string, measure: string): Bucket {
  const kind = measure === 'cost' ? 'totalCost' : 'units'
  const counter = usageTotal(usaget, measure)
  return bucketOf({ ...PERIOD, free: 0, id: 12, kind, counter, limit: UNLIMITED_TOTAL })
}

/** The same bucket after further usage, or after a refund. */
export function spentMore(bucket: Bucket, amount: number): Bucket {
  return { ...bucket, spent: bucket.spent + amount, free: bucket.free - amount }
}

export function ruleOf(
  condition: Partial<BalanceCondition> & Pick<BalanceCondition, 'type'>,
  ...paths: string[]
): BalanceRuleDocument {
  const conditions = [{ paths: paths.map((path) => ({ path })), ...condition }]
  return { event_code: 'CODE', conditions }
}

export function rulesOf(...documents: BalanceRuleDocument[]): SubscriberRules {
  return new SubscriberRules(
    documents.map((document, index) => compileBalanceRule(document, `events.balance.${index}`)),
  )
}

export const SUBSCRIBER = { aid: 1, sid: 7, plan: 'P' }

/** The states of an owner with these buckets. */
export class Walk {
  owner: OwnerState
  readonly #rules: SubscriberRules

  constructor(rules: SubscriberRules, ...buckets: Bucket[]) {
    this.#rules = rules
    this.owner = ownerOf(buckets)
  }

  /** Changes one bucket by an amount. */
  step(amount: number, index = 0): RuleMatch[] {
    const buckets = [...this.owner.buckets]
    buckets[index] = spentMore(buckets[index] as Bucket, amount)
    return this.to(buckets)
  }

  to(buckets: Bucket[], usagets: readonly string[] = ['call']): RuleMatch[] {
    const before = { subscriber: this.owner, account: null }
    this.owner = ownerOf(buckets)
    const after = { subscriber: this.owner, account: null }
    return this.#rules.matches(before, after, SUBSCRIBER, usagets)
  }
}
