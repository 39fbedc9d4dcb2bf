/** Rules of money as they are compiled. */
import { expect, it } from 'vitest'
import { moneyRuleCompiler } from '../../../src/domain/events/money.ts'
import { FieldError } from '../../../src/domain/fields.ts'

it('a rule without a code has that of its type, and is for all accounts', () => {
  const rule = moneyRuleCompiler()({ event_type: 'overdue' }, 'events.money.0')
  expect(rule).toMatchObject({ type: 'overdue', code: 'overdue', description: '', receiver: {} })
  expect(rule?.isFor(7)).toBe(true)
})

it('an empty list of accounts is for none', () => {
  const rule = moneyRuleCompiler()({ event_type: 'overdue', filter: { aid: [] } }, 'at')
  expect(rule?.isFor(7)).toBe(false)
})

it('two rules of a type need different codes, unless one is not active', () => {
  const compile = moneyRuleCompiler()
  expect(compile({ event_type: 'overdue', active: false }, 'events.money.0')).toBeNull()
  compile({ event_type: 'overdue' }, 'events.money.1')
  compile({ event_type: 'overdue', event_code: 'LATE' }, 'events.money.2')
  compile({ event_type: 'credit_note', event_code: 'LATE' }, 'events.money.3')
  const again = () => compile({ event_type: 'overdue', event_code: 'LATE' }, 'events.money.4')
  expect(again).toThrow(FieldError)
  expect(again).toThrow('events.money.4.event_code belongs to another rule of overdue')
})
