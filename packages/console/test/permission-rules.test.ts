/** Edits of permission rules: what decides about an action, and what stays as it is. */
import { describe, expect, it } from 'vitest'
import {
  decidingRule,
  edited,
  hasOwnRule,
  mergeRules,
  type Rule,
  rolesIn,
  withEdit,
} from '../src/pages/access/rules.ts'

const rule = (collection: string, actions: Rule['actions'], ...roles: string[]): Rule => ({
  collection,
  actions,
  roles,
})
const edit = (action: string, roles: readonly string[] | null) => {
  return { collection: 'plans', action, roles }
}
const SHARED = rule('plans', ['get', 'update'], 'support')
const ALL = rule('*', '*', 'read')

describe('the rule that decides', () => {
  it.each([
    [[ALL, SHARED], 0],
    [[rule('rates', '*', 'x'), SHARED], 1],
    [[rule('plans', ['create'], 'x')], -1],
    [[], -1],
  ])('%j', (rules, at) => expect(decidingRule(rules, 'plans', 'get')).toBe(at))
})

describe('an edit', () => {
  it('makes a rule of its own before those that decide for other actions too', () => {
    const rules = edited([SHARED, ALL], [edit('get', ['read', 'admin', 'support'])])
    expect(rules).toEqual([rule('plans', ['get'], 'read', 'support'), SHARED, ALL])
    expect(rolesIn(rules, { collection: 'plans', action: 'update' })).toBe('support')
    expect(hasOwnRule(rules, 'plans', 'get')).toBe(true)
    expect(hasOwnRule(rules, 'plans', 'update')).toBe(false)
  })

  it('replaces its own rule, and without other roles permits admins', () => {
    const rules = [rule('plans', ['get'], 'read'), ALL]
    expect(edited(rules, [edit('get', ['admin'])])).toEqual([rule('plans', ['get'], 'admin'), ALL])
  })

  it('without roles removes its own rule only', () => {
    const own = rule('plans', ['get'], 'read')
    expect(edited([own, SHARED], [edit('get', null)])).toEqual([SHARED])
    expect(edited([SHARED], [edit('get', null)])).toEqual([SHARED])
  })

  it('replaces the former edit of its row', () => {
    const edits = withEdit([edit('get', ['a']), edit('update', ['b'])], edit('get', ['c']))
    expect(edits).toEqual([edit('update', ['b']), edit('get', ['c'])])
  })
})

it('clashes with another change of the same row only', () => {
  const stored = [rule('plans', ['get'], 'reports')]
  const edits = [edit('get', ['read']), edit('create', ['write'])]
  expect(mergeRules([], stored, edits).clashes).toEqual([
    { field: 'plans/get', mine: 'read', theirs: 'reports' },
  ])
})
