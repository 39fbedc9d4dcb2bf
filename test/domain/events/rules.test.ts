import { describe, expect, it } from 'vitest'
import type { Bucket } from '../../../src/domain/bucket.ts'
import type { BalanceRuleDocument } from '../../../src/domain/events/rule-documents.ts'
import { compileBalanceRule } from '../../../src/domain/events/rules.ts'
import { FieldError } from '../../../src/domain/fields.ts'
import {
  creditBucket,
  groupBucket,
  ruleOf,
  rulesOf,
  spentMore,
  totalBucket,
  Walk,
} from '../../support/domain/counter-walk.ts'
import { bucketOf, moneyOf } from '../../support/domain/owners.ts'

const GROUP = 'balance.groups.G.usagev'
const MICROS = 1_000_000

describe('published sequences of usage', () => {
  const group = groupBucket('G', 100)
  const unlimited = groupBucket('G', 2 ** 52)
  const over = totalBucket('sms', 'over_group')
  const calls = totalBucket('call', 'usagev')
  const cost = creditBucket()
  it.each<[string, BalanceRuleDocument, Bucket, number[], (number | null | undefined)[]]>([
    [
      'constant 50',
      ruleOf({ type: 'reached_constant', value: 50 }, GROUP),
      group,
      [20, 30],
      [null, 50],
    ],
    [
      'constant 50 at once',
      ruleOf({ type: 'reached_constant', value: '50' }, GROUP),
      group,
      [51],
      [50],
    ],
    [
      'unlimited group',
      ruleOf({ type: 'reached_constant', value: 100 }, GROUP),
      unlimited,
      [20, 80],
      [null, 100],
    ],
    [
      'over_group',
      ruleOf({ type: 'reached_constant', value: 10 }, 'balance.totals.sms.over_group.usagev'),
      over,
      [0, 10],
      [null, 10],
    ],
    [
      'two constants',
      ruleOf({ type: 'reached_constant', value: '50,75' }, GROUP),
      group,
      [49, 1, 25],
      [null, 50, 75],
    ],
    [
      'recurring 10',
      ruleOf({ type: 'reached_constant_recurring', value: 10 }, 'balance.totals.call.usagev'),
      calls,
      [5, 5, 10],
      [null, 10, 20],
    ],
    [
      'above 10',
      ruleOf({ type: 'is_greater_than', value: '10' }, GROUP),
      group,
      [2, 8, 2, 1],
      [null, null, undefined, undefined],
    ],
    [
      'cost above 100',
      ruleOf({ type: 'is_greater_than', value: 100 }, 'balance.cost'),
      cost,
      [10 * MICROS, 10_000 * MICROS],
      [null, undefined],
    ],
    [
      'recurring 0.1 of cost',
      ruleOf({ type: 'reached_constant_recurring', value: 0.1 }, 'balance.cost'),
      cost,
      [2 * MICROS, 50_000, 50_000],
      [2, null, 2.1],
    ],
  ])('%s', (_name, rule, bucket, steps, expected) => {
    const walk = new Walk(rulesOf(rule), bucket)
    for (const [index, step] of steps.entries()) {
      const found = walk.step(step)
      const reached = expected[index]
      expect(found.map(({ match }) => match.reached)).toEqual(reached === null ? [] : [reached])
    }
  })
})

describe('a constant', () => {
  it('is reached by a falling amount too; of several, the furthest one counts', () => {
    const rule = ruleOf({ type: 'reached_constant', value: '20, 40,60' }, GROUP)
    const walk = new Walk(rulesOf(rule), groupBucket('G', 100))
    expect(walk.step(70)[0]?.match).toMatchObject({ before: 0, after: 70, reached: 60 })
    expect(walk.step(-50)[0]?.match).toMatchObject({ before: 70, after: 20, reached: 20 })
    expect(walk.step(-10)).toEqual([])
  })

  it('of prepaid credit is negative: the credit that is left', () => {
    const path = 'balance.totals.data.usagev'
    const rule = ruleOf({ type: 'reached_constant', value: '-20,0' }, path)
    const walk = new Walk(rulesOf(rule), bucketOf({ credited: 100, free: 100 }))
    expect(walk.step(70)).toEqual([])
    expect(walk.step(15)[0]?.match).toMatchObject({ before: -30, after: -15, reached: -20 })
    expect(walk.step(15)[0]?.match).toMatchObject({ after: 0, reached: 0, basedOn: 'usage' })
  })

  it('may be finer than the amounts', () => {
    const rule = ruleOf({ type: 'reached_constant', value: '1.5' }, GROUP)
    const walk = new Walk(rulesOf(rule), groupBucket('G', 100))
    expect(walk.step(1)).toEqual([])
    expect(walk.step(1)[0]?.match.reached).toBe(1.5)
    expect(walk.step(-1)[0]?.match.reached).toBe(1.5)
  })
})

describe('a reservation', () => {
  it('changes nothing, neither when it is made nor when it is returned', () => {
    const documents = [
      ruleOf({ type: 'has_changed' }, 'balance.cost', GROUP, 'balance.totals.data.usagev'),
      ruleOf({ type: 'is_less_than', value: 1000 }, 'balance.cost', GROUP),
    ]
    const buckets = [moneyOf(100), groupBucket('G', 100), bucketOf({ id: 3 })]
    const walk = new Walk(rulesOf(...documents), ...buckets)
    const reserved = buckets.map((one) => ({ ...one, reserved: 40, free: one.free - 40 }))
    expect(walk.to(reserved)).toEqual([])
    expect(walk.to(buckets)).toEqual([])
  })
})

describe('a percentage', () => {
  it('is of the total of the group', () => {
    const rule = ruleOf({ type: 'reached_percentage', value: '50,80' }, GROUP)
    const walk = new Walk(rulesOf(rule), groupBucket('G', 30))
    expect(walk.step(14)).toEqual([])
    expect(walk.step(1)[0]?.match).toMatchObject({ reached: 15, percentage: 50, groupTotal: 30 })
    expect(walk.step(20)[0]?.match).toMatchObject({ reached: 24, percentage: 80 })
  })

  it('of money is one of the credit limit', () => {
    const rule = ruleOf({ type: 'reached_percentage', value: 12.5 }, 'balance.cost')
    const walk = new Walk(rulesOf(rule), creditBucket(3 * MICROS))
    expect(walk.step(374_999)).toEqual([])
    expect(walk.step(1)[0]?.match).toMatchObject({ reached: 0.375, basedOn: 'monetary' })
    expect(walk.step(-1)[0]?.match.groupTotal).toBeUndefined()
  })

  it('of the credit of a bundle is one of what was credited', () => {
    const paths = [{ path: 'spent', total_path: 'credited' }]
    const conditions = [
      { type: 'reached_percentage' as const, value: '80', paths },
      { type: 'is' as const, value: 1, paths: [{ path: 'pp_includes_external_id' }] },
    ]
    const rules = rulesOf({ event_code: 'LOW', prepaid: true, conditions })
    const walk = new Walk(rules, bucketOf({ credited: 50, free: 50 }))
    expect(walk.step(39)).toEqual([])
    expect(walk.step(1)[0]?.match).toMatchObject({ before: 39, after: 40, percentage: 80 })
    const other = new Walk(rules, bucketOf({ credited: 50, free: 50, prepaidIncludeId: 2 }))
    expect(other.step(40)).toEqual([])
  })

  it('of an unlimited group, or one without units, is never reached', () => {
    const rule = ruleOf({ type: 'reached_percentage', value: '50' }, GROUP)
    for (const total of [2 ** 52, 0]) {
      expect(new Walk(rulesOf(rule), groupBucket('G', total)).step(1_000_000)).toEqual([])
    }
  })
})

describe('a comparison', () => {
  it.each<[string, unknown, (boolean | number)[]]>([
    ['is', 10, [0, 1, 0]],
    ['is_not', 10, [1, 0, 1]],
    ['in', '5,10', [1, 1, 0]],
    ['is_less_than', 10, [1, 0, 0]],
    ['is_less_than_or_equal', 10, [1, 1, 0]],
    ['is_greater_than', 10, [0, 0, 1]],
    ['is_greater_than_or_equal', 10, [0, 1, 1]],
    ['has_changed', undefined, [1, 1, 1]],
    ['has_changed_to', 10, [0, 1, 0]],
    ['has_changed_from', 10, [0, 0, 1]],
  ])('%s is tested after each change', (type, value, expected) => {
    const condition = { type, ...(value === undefined ? {} : { value }) } as never
    const walk = new Walk(rulesOf(ruleOf(condition, GROUP)), groupBucket('G', 100))
    const found = [5, 5, 5].map((amount) => walk.step(amount).length)
    expect(found).toEqual(expected)
  })

  it('reads the state before the request if the path says so', () => {
    const paths = [{ path: GROUP, which: 'before' as const }]
    const rule = { event_code: 'C', conditions: [{ type: 'is' as const, value: '5', paths }] }
    const walk = new Walk(rulesOf(rule), groupBucket('G', 100))
    expect([5, 5, 5].map((amount) => walk.step(amount).length)).toEqual([0, 1, 0])
  })

  it('of a value that the balance does not have is not met, except is_not', () => {
    const documents = (['is_less_than', 'is', 'is_not'] as const).map((type) => ({
      ...ruleOf({ type, value: 10 }, 'balance.cost'),
      event_code: type,
    }))
    const walk = new Walk(rulesOf(...documents), bucketOf())
    expect(walk.step(1)).toEqual([])
  })
})

describe('conditions of a rule', () => {
  const above = (path: string, value: number) => ({
    type: 'is_greater_than' as const,
    value,
    paths: [{ path }],
  })

  it('must all be met by one balance; the last movement is reported', () => {
    const conditions = [
      { type: 'reached_constant' as const, value: 50, paths: [{ path: GROUP }] },
      above('balance.groups.H.usagev', 5),
      { type: 'is' as const, value: 'postpaid', paths: [{ path: 'connection_type' }] },
    ]
    const walk = new Walk(
      rulesOf({ event_code: 'C', conditions }),
      groupBucket('G', 100),
      groupBucket('H', 100, { id: 20 }),
    )
    expect(walk.step(60)).toEqual([])
    walk.step(-60)
    walk.step(6, 1)
    expect(walk.step(60)[0]?.match).toMatchObject({ before: 0, after: 60, reached: 50 })
  })

  it('have paths of which one is enough; each one that matches is reported', () => {
    const rule = ruleOf({ type: 'reached_constant', value: 10 }, GROUP, 'balance.groups.H.usagev')
    const buckets = [groupBucket('G', 100), groupBucket('H', 100, { id: 20 })]
    const walk = new Walk(rulesOf(rule), ...buckets)
    expect(walk.step(10).map(({ match }) => match.path.path)).toEqual([GROUP])
    const other = new Walk(rulesOf(rule), ...buckets)
    expect(other.to(buckets.map((one) => spentMore(one, 10)))).toHaveLength(2)
  })

  it('name each group of the balance that has changed', () => {
    const rule = ruleOf({ type: 'reached_percentage', value: 50, all_groups: true, usaget: 'call' })
    const buckets = [groupBucket('A', 10), groupBucket('B', 10, { id: 20 })]
    const walk = new Walk(rulesOf(rule), ...buckets)
    expect(walk.step(5, 1)[0]?.match.path.path).toBe('balance.groups.B.usagev')
    const other = new Walk(rulesOf(rule), ...buckets)
    expect(
      other.to(
        buckets.map((one) => spentMore(one, 5)),
        ['sms'],
      ),
    ).toEqual([])
  })

  it('add up counters with one group name, but not those of a service with an id', () => {
    const rule = ruleOf({ type: 'reached_constant', value: 10 }, GROUP)
    const included = groupBucket('G', 100, { id: 20, counter: 'group/S/0/G', spent: 4 })
    const instance = groupBucket('G', 100, { id: 21, counter: 'group/S/5/G', spent: 4 })
    const walk = new Walk(rulesOf(rule), groupBucket('G', 100), included, instance)
    expect(walk.step(6)[0]?.match).toMatchObject({ before: 4, after: 10 })
    expect(walk.step(6, 2)[0]?.match).toMatchObject({ before: 4, after: 10 })
  })

  it('may name the subscriber', () => {
    const plan = (value: string) => ({
      type: 'in' as const,
      value: [value, 'OTHER'],
      paths: [{ path: 'plan', entity_type: 'subscriber' }],
    })
    for (const [value, count] of [
      ['P', 1],
      ['Q', 0],
    ] as const) {
      const conditions = [above(GROUP, 1), plan(value)]
      const walk = new Walk(rulesOf({ event_code: 'C', conditions }), groupBucket('G', 9))
      expect(walk.step(2)).toHaveLength(count)
    }
  })
})

describe('a rule is refused', () => {
  it.each<[string, object, string]>([
    [
      'an unknown path',
      { type: 'is', value: 1, path: 'balance.costs' },
      'conditions.0.path is not a value of a',
    ],
    ['no path', { type: 'is', value: 1 }, 'conditions.0.paths is missing'],
    ['no value', { type: 'is', path: GROUP }, 'conditions.0.value is missing'],
    [
      'a text for a number',
      { type: 'reached_constant', value: 'x', path: GROUP },
      'conditions.0.value must be a number, or several',
    ],
    [
      'an empty member',
      { type: 'reached_constant', value: '5,', path: GROUP },
      'conditions.0.value must be a number',
    ],
    [
      'a list where one number is needed',
      { type: 'is_less_than', value: '5,6', path: GROUP },
      'value must be a number',
    ],
    [
      'recurring 0',
      { type: 'reached_constant_recurring', value: 0, path: GROUP },
      'value must be above 0',
    ],
    [
      'a percentage of nothing',
      { type: 'reached_percentage', value: 5, path: 'spent' },
      'conditions.0.total_path is missing',
    ],
    [
      'a constant of a text',
      { type: 'reached_constant', value: 5, path: 'connection_type' },
      'is not an amount',
    ],
    [
      'a text as total',
      { type: 'reached_percentage', value: 5, paths: [{ path: GROUP, total_path: 'sid' }] },
      'paths.0.total_path is not an amount',
    ],
    [
      'another entity',
      { type: 'is', value: 5, paths: [{ path: 'aid', entity_type: 'plan' }] },
      'paths.0.entity_type must be balance or',
    ],
    [
      'an unknown value of the subscriber',
      { type: 'is', value: 5, paths: [{ path: 'name', entity_type: 'subscriber' }] },
      'is not a value of a subscriber',
    ],
  ])('%s', (_name, condition, message) => {
    const compile = () =>
      compileBalanceRule({ event_code: 'C', conditions: [condition as never] }, 'events.balance.0')
    expect(compile).toThrow(FieldError)
    expect(compile).toThrow(message)
  })
})
