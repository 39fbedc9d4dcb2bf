import { describe, expect, it } from 'vitest'
import type { RuleActionDocument, RuleFilter } from '../../../src/domain/events/rule-documents.ts'
import { BalanceRuleSet } from '../../../src/domain/events/rule-set.ts'
import { compileBalanceRule } from '../../../src/domain/events/rules.ts'
import { ruleOf } from '../../support/domain/counter-walk.ts'

function setOf(filters: Record<string, RuleFilter | undefined>): BalanceRuleSet {
  const rules = Object.entries(filters).map(([event_code, filter], index) => {
    const document = { ...ruleOf({ type: 'has_changed' }, 'balance.cost'), event_code }
    const filtered = filter === undefined ? document : { ...document, filter }
    return compileBalanceRule(filtered, `events.balance.${index}`)
  })
  return new BalanceRuleSet(rules)
}

function codesFor(set: BalanceRuleSet, plan: string, aid = 1, services: string[] = []) {
  const rules = set.of({ aid, plan, services: () => services })
  return rules === null ? null : rules.rules.map(({ document }) => document.event_code)
}

describe('the rules of a subscriber', () => {
  it('are those whose filter has its plan, account and one of its services', () => {
    const set = setOf({
      ALL: undefined,
      PLAN: { plan: ['P', 'Q'] },
      ACCOUNT: { aid: [1, 2] },
      SERVICE: { service: ['S', 'T'] },
      BOTH: { plan: ['P'], service: ['S'], aid: [1] },
    })
    expect(set.needsServices).toBe(true)
    expect(codesFor(set, 'P', 3)).toEqual(['ALL', 'PLAN'])
    expect(codesFor(set, 'R', 1)).toEqual(['ALL', 'ACCOUNT'])
    expect(codesFor(set, 'R', 3, ['T', 'U'])).toEqual(['ALL', 'SERVICE'])
    expect(codesFor(set, 'P', 1, ['S'])).toEqual(['ALL', 'PLAN', 'ACCOUNT', 'SERVICE', 'BOTH'])
    expect(codesFor(set, 'P', 1, ['U'])).toEqual(['ALL', 'PLAN', 'ACCOUNT'])
  })

  it('are selected once for subscribers that do not differ', () => {
    const set = setOf({ PLAN: { plan: ['P'] } })
    const subject = (aid: number) => ({ aid, plan: 'P', services: () => [] })
    expect(set.of(subject(1))).toBe(set.of(subject(2)))
    expect(codesFor(set, 'Q')).toBeNull()
    expect(set.needsServices).toBe(false)
  })

  it('with actions apply by type, then in the order of the settings', () => {
    const of = (event_code: string, action?: RuleActionDocument, aid?: number[]) => ({
      ...ruleOf({ type: 'reached_constant', value: 1 }, 'balance.cost'),
      event_code,
      ...(action === undefined ? {} : { action }),
      ...(aid === undefined ? {} : { filter: { aid } }),
    })
    const slow = { type: 'throttle', policy: 'SLOW' } as const
    const page = { type: 'redirect', address: 'https://example.net/' } as const
    const documents = [
      of('EVENT'),
      of('SLOW', slow),
      of('PAGE_1', page, [1]),
      of('PAGE_2', page),
      of('BAR', { type: 'bar' }),
    ]
    const rules = documents.map((document, index) =>
      compileBalanceRule(document, `events.balance.${index}`),
    )
    const set = new BalanceRuleSet(rules)
    expect(codesFor(set.withActions!, 'P', 1)).toEqual(['BAR', 'PAGE_1', 'PAGE_2', 'SLOW'])
    expect(codesFor(set.withActions!, 'P', 2)).toEqual(['BAR', 'PAGE_2', 'SLOW'])
    expect(codesFor(set, 'P', 2)).toEqual(['EVENT', 'SLOW', 'PAGE_2', 'BAR'])
    expect(new BalanceRuleSet(rules.slice(0, 1)).withActions).toBeNull()
  })

  it('are none if no rule is active', () => {
    const rule = ruleOf({ type: 'has_changed' }, 'balance.cost')
    const inactive = compileBalanceRule({ ...rule, active: false }, 'events.balance.0')
    expect(new BalanceRuleSet([inactive]).isEmpty).toBe(true)
    expect(setOf({ A: { aid: [1] } }).isEmpty).toBe(false)
  })
})
