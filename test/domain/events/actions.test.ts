import { describe, expect, it } from 'vitest'
import type { Bucket } from '../../../src/domain/bucket.ts'
import { actionsInForce } from '../../../src/domain/events/actions-in-force.ts'
import type {
  BalanceCondition,
  BalanceRuleDocument,
  RuleActionDocument,
} from '../../../src/domain/events/rule-documents.ts'
import { compileBalanceRule } from '../../../src/domain/events/rules.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import {
  creditBucket,
  groupBucket,
  ruleOf,
  SUBSCRIBER,
  spentMore,
  totalBucket,
} from '../../support/domain/counter-walk.ts'
import { bucketOf, moneyOf, ownerOf } from '../../support/domain/owners.ts'

const GROUP = 'balance.groups.G'
const DATA = 'balance.totals.data.usagev'
const MICROS = 1_000_000
/** Within the period of the counters. */
const AT_MS = 1500

function barring(document: BalanceRuleDocument) {
  return compileBalanceRule({ ...document, action: { type: 'bar' } }, 'events.balance.0')
}

/** The owner and the end of the balances that bring the rule into force; null if it is not. */
function inForce(
  document: BalanceRuleDocument,
  own: Bucket[],
  shared: Bucket[] = [],
  atMs = AT_MS,
): { sid: number; untilMs: number } | null {
  const owners = { subscriber: ownerOf(own), account: ownerOf(shared, { sid: 0 }) }
  const [found] = actionsInForce([barring(document)], owners, SUBSCRIBER, atMs)
  return found === undefined ? null : { sid: found.sid, untilMs: found.untilMs }
}

const isInForce = (document: BalanceRuleDocument, ...buckets: Bucket[]) =>
  inForce(document, buckets) !== null

describe('an action is in force while the value is', () => {
  const group = groupBucket('G', 100)
  it.each<[string, BalanceRuleDocument, Bucket, [number, boolean][]]>([
    [
      'at the smallest constant or beyond',
      ruleOf({ type: 'reached_constant', value: '75,50' }, `${GROUP}.usagev`),
      group,
      [
        [0, false],
        [49, false],
        [50, true],
        [60, true],
        [200, true],
      ],
    ],
    [
      'at the smallest percentage or beyond',
      ruleOf({ type: 'reached_percentage', value: '80,100' }, `${GROUP}.usagev`),
      group,
      [
        [79, false],
        [80, true],
        [100, true],
      ],
    ],
    [
      'at a recurring constant or beyond, also between its multiples',
      ruleOf({ type: 'reached_constant_recurring', value: 10 }, `${GROUP}.usagev`),
      group,
      [
        [9, false],
        [10, true],
        [15, true],
      ],
    ],
    [
      'at what is left or below',
      ruleOf({ type: 'reached_constant', value: '10,20' }, `${GROUP}.left`),
      group,
      [
        [0, false],
        [79, false],
        [80, true],
        [100, true],
      ],
    ],
    [
      'at a percentage that is left or below',
      ruleOf({ type: 'reached_percentage', value: 25 }, `${GROUP}.left`),
      group,
      [
        [74, false],
        [75, true],
      ],
    ],
    [
      'at a percentage of the credit limit',
      ruleOf({ type: 'reached_percentage', value: 50 }, 'balance.cost'),
      creditBucket(3 * MICROS),
      [
        [1_499_999, false],
        [1_500_000, true],
      ],
    ],
    [
      'at an amount of money',
      ruleOf({ type: 'reached_constant', value: 0.1 }, 'balance.cost'),
      creditBucket(),
      [
        [99_999, false],
        [100_000, true],
      ],
    ],
    [
      'as a comparison says',
      ruleOf({ type: 'is_greater_than', value: 5 }, DATA),
      totalBucket('data', 'usagev'),
      [
        [5, false],
        [6, true],
      ],
    ],
    [
      'at the credit that is left',
      ruleOf({ type: 'reached_constant', value: -20 }, DATA),
      bucketOf(),
      [
        [79, false],
        [80, true],
        [100, true],
      ],
    ],
  ])('%s', (_name, document, bucket, steps) => {
    for (const [amount, expected] of steps) {
      expect(isInForce(document, spentMore(bucket, amount)), `at ${amount}`).toBe(expected)
    }
  })

  it('and a reservation does not change that', () => {
    const rule = ruleOf({ type: 'reached_constant', value: 50 }, `${GROUP}.usagev`)
    expect(isInForce(rule, { ...groupBucket('G', 100), reserved: 80, free: -80 })).toBe(false)
  })

  it('in a balance of the period; without usage in it, the action is not in force', () => {
    const rule = ruleOf({ type: 'reached_constant', value: 50 }, `${GROUP}.usagev`)
    const used = [spentMore(groupBucket('G', 100), 60)]
    expect(inForce(rule, used, [], 1000)).toEqual({ sid: 7, untilMs: 2000 })
    expect(inForce(rule, used, [], 999)).toBeNull()
    expect(inForce(rule, used, [], 2000)).toBeNull()
    expect(isInForce(ruleOf({ type: 'is_less_than', value: 1 }, `${GROUP}.usagev`))).toBe(false)
  })

  it('known: an unlimited group has no percentage', () => {
    const rule = ruleOf({ type: 'reached_percentage', value: 1 }, `${GROUP}.usagev`)
    expect(isInForce(rule, spentMore(groupBucket('G', 2 ** 52), 10_000))).toBe(false)
    expect(isInForce(rule, spentMore(groupBucket('G', 0), 10_000))).toBe(false)
  })
})

describe('of several balances', () => {
  const cost = ruleOf({ type: 'reached_constant', value: 1 }, 'balance.cost')
  const spent = (micros: number) => [spentMore(creditBucket(), micros)]

  it('one is enough for postpaid money: that of the subscriber or that of the account', () => {
    expect(inForce(cost, spent(MICROS), spent(0))?.sid).toBe(7)
    expect(inForce(cost, spent(0), spent(MICROS))?.sid).toBe(0)
    expect(inForce(cost, spent(MICROS), spent(MICROS))?.sid).toBe(0)
    expect(inForce(cost, spent(0), spent(0))).toBeNull()
  })

  it('all are needed for prepaid credit, which can still pay', () => {
    const low = ruleOf({ type: 'reached_constant', value: -20 }, DATA)
    const empty = spentMore(bucketOf(), 90)
    const full = bucketOf({ id: 2 })
    expect(isInForce(low, empty, full)).toBe(false)
    expect(inForce(low, [empty], [full])).toBeNull()
    expect(isInForce(low, empty, spentMore(full, 80))).toBe(true)
    // It does not pay for the usage of a postpaid subscriber.
    const used = ruleOf({ type: 'reached_constant', value: 5 }, DATA)
    expect(isInForce(used, full, spentMore(totalBucket('data', 'usagev'), 5))).toBe(true)
    // Money has no such value, nor credit that has ended.
    expect(isInForce(low, empty, moneyOf(50, { id: 3 }))).toBe(true)
    expect(isInForce(low, empty, { ...full, toMs: AT_MS })).toBe(true)
  })

  it('all are needed for groups of one name', () => {
    const rule = ruleOf({ type: 'reached_percentage', value: 100 }, `${GROUP}.usagev`)
    const instance = groupBucket('G', 100, { id: 21, counter: 'group/S/5/G' })
    const own = spentMore(groupBucket('G', 100), 100)
    expect(isInForce(rule, own, instance)).toBe(false)
    expect(isInForce(rule, own, spentMore(instance, 100))).toBe(true)
  })

  it('those count that the other conditions of the rule select', () => {
    const conditions: BalanceCondition[] = [
      { type: 'reached_constant', value: -20, paths: [{ path: DATA }] },
      { type: 'is', value: 2, paths: [{ path: 'pp_includes_external_id' }] },
      { type: 'is', value: 'P', paths: [{ path: 'plan', entity_type: 'subscriber' }] },
    ]
    const rule = { event_code: 'C', conditions }
    const full = bucketOf({ id: 2 })
    const bundle = bucketOf({ id: 3, prepaidIncludeId: 2 })
    expect(isInForce(rule, full, spentMore(bundle, 90))).toBe(true)
    expect(isInForce(rule, spentMore(full, 90), bundle)).toBe(false)
    const other = { ...conditions[2]!, value: 'Q' }
    const unselected = { event_code: 'C', conditions: [...conditions.slice(0, 2), other] }
    expect(isInForce(unselected, spentMore(bundle, 90))).toBe(false)
  })

  it('prepaid ones count alone if the rule says so', () => {
    const rule = { ...cost, prepaid: true }
    expect(inForce(rule, spent(5 * MICROS))).toBeNull()
    expect(
      inForce({ ...rule, ...ruleOf({ type: 'is', value: 0 }, 'balance.cost') }, [
        spentMore(moneyOf(5), 5),
      ]),
    ).not.toBeNull()
  })
})

describe('an action is refused', () => {
  const reached: BalanceCondition = {
    type: 'reached_constant',
    value: 5,
    paths: [{ path: `${GROUP}.usagev` }],
  }
  it.each<[string, RuleActionDocument, BalanceCondition[], string]>([
    ['throttle without policy', { type: 'throttle' }, [reached], 'action.policy is missing'],
    ['redirect without address', { type: 'redirect' }, [reached], 'action.address is missing'],
    [
      'an address of another kind',
      { type: 'redirect', address: 'ftp://example.net' },
      [reached],
      'action.address must be an address that begins with http:// or https://',
    ],
    [
      'an address with a password',
      { type: 'redirect', address: 'https://a:b@example.net' },
      [reached],
      'without user and password',
    ],
    [
      'a policy of a bar',
      { type: 'bar', policy: 'SLOW' },
      [reached],
      'action.policy does not apply to the action bar',
    ],
    [
      'an address of throttle',
      { type: 'throttle', policy: 'SLOW', address: 'https://example.net' },
      [reached],
      'action.address does not apply to the action throttle',
    ],
    ...(['has_changed', 'has_changed_to', 'has_changed_from'] as const).map(
      (type): [string, RuleActionDocument, BalanceCondition[], string] => [
        type,
        { type: 'bar' },
        [reached, { ...reached, type }],
        'conditions.1.type describes no state',
      ],
    ),
    [
      'groups without a name',
      { type: 'bar' },
      [{ type: 'reached_percentage', value: 50, all_groups: true }],
      'conditions.0.all_groups cannot be used with an action',
    ],
    [
      'the state before',
      { type: 'bar' },
      [{ type: 'is', value: 5, paths: [{ path: `${GROUP}.usagev`, which: 'before' }] }],
      'conditions.0.which cannot be before',
    ],
  ])('%s', (_name, action, conditions, message) => {
    const compile = () =>
      compileBalanceRule({ event_code: 'C', conditions, action }, 'events.balance.3')
    expect(compile).toThrow(FieldError)
    expect(compile).toThrow(
      `events.balance.3.${message}`.replace('events.balance.3.without', 'without'),
    )
  })
})
