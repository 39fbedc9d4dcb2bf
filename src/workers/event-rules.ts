/** The stored rules for events. */
import { isDeepStrictEqual } from 'node:util'
import { balanceRulesIn } from '../catalog/settings/events/event-settings.ts'
import { BalanceRuleSet } from '../domain/events/rule-set.ts'
import type { Logger } from '../runtime/log.ts'

export interface EventRules {
  /** Null if there are no active rules. */
  now(): BalanceRuleSet | null
  /** Applies stored settings, without invalid rules. Never throws. */
  follow(stored: unknown): void
}

export function createEventRules(log: Pick<Logger, 'error'>): EventRules {
  let followed: unknown = {}
  let current: BalanceRuleSet | null = null
  return {
    now: () => current,
    follow(stored) {
      if (isDeepStrictEqual(stored, followed)) return
      followed = stored
      const { rules, invalid } = balanceRulesIn(stored)
      for (const { path, reason } of invalid) {
        log.error({ path, reason }, 'stored event rule is invalid and left out')
      }
      const set = new BalanceRuleSet(rules)
      current = set.isEmpty ? null : set
    },
  }
}
