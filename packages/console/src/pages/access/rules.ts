/** Rules of permissions: which of them decides about an action, and edits of single actions. */
import { differences } from '../../parts/differences.ts'
import type { Merge } from '../../parts/document/values.ts'

export interface Rule {
  readonly collection: string
  readonly actions: '*' | readonly string[]
  readonly roles: readonly string[]
}

const ADMIN = 'admin'

/** The position of the rule that decides; -1 if the usual roles apply. As the API does. */
export function decidingRule(rules: readonly Rule[], collection: string, action: string): number {
  return rules.findIndex(
    ({ collection: named, actions }) =>
      (named === '*' || named === collection) && (actions === '*' || actions.includes(action)),
  )
}

/** Whether the rule is about this action only. */
function isOwn({ collection: named, actions }: Rule, collection: string, action: string): boolean {
  return named === collection && actions !== '*' && actions.length === 1 && actions[0] === action
}

/** Whether a rule of its own decides about the action, which can be removed. */
export function hasOwnRule(rules: readonly Rule[], collection: string, action: string): boolean {
  const rule = rules[decidingRule(rules, collection, action)]
  return rule !== undefined && isOwn(rule, collection, action)
}

/** Gives the action these roles by a rule of its own; other actions keep theirs. */
function withRoles(
  rules: readonly Rule[],
  [collection, action]: readonly [string, string],
  roles: readonly string[],
): readonly Rule[] {
  const others = roles.filter((role) => role !== ADMIN)
  const rule = { collection, actions: [action], roles: others.length === 0 ? [ADMIN] : others }
  const at = decidingRule(rules, collection, action)
  if (at < 0) return [...rules, rule]
  return rules.toSpliced(at, hasOwnRule(rules, collection, action) ? 1 : 0, rule)
}

/** Without the action's own rule: the next one that names it decides, or the usual roles apply. */
function withoutOwnRule(
  rules: readonly Rule[],
  [collection, action]: readonly [string, string],
): readonly Rule[] {
  if (!hasOwnRule(rules, collection, action)) return rules
  return rules.toSpliced(decidingRule(rules, collection, action), 1)
}

/** An edit of a row: its roles, or null for the usual ones. */
export interface Edit {
  readonly collection: string
  readonly action: string
  readonly roles: readonly string[] | null
}

export function edited(rules: readonly Rule[], edits: readonly Edit[]): readonly Rule[] {
  return edits.reduce((all, { collection, action, roles }) => {
    const named = [collection, action] as const
    return roles === null ? withoutOwnRule(all, named) : withRoles(all, named, roles)
  }, rules)
}

/** The edits with one more, which replaces that of the same row. */
export function withEdit(edits: readonly Edit[], edit: Edit): readonly Edit[] {
  return [...edits.filter((each) => nameOf(each) !== nameOf(edit)), edit]
}

/** `accounts/get` */
export function nameOf({ collection, action }: Omit<Edit, 'roles'>): string {
  return `${collection}/${action}`
}

/** The roles that a rule gives an action, as text; empty for the usual ones. */
export function rolesIn(rules: readonly Rule[], { collection, action }: Omit<Edit, 'roles'>) {
  return (rules[decidingRule(rules, collection, action)]?.roles ?? []).join(', ')
}

/** A row clashes if another one has given it other roles than the edit does. */
export function mergeRules(
  before: readonly Rule[],
  stored: readonly Rule[],
  edits: readonly Edit[],
): Pick<Merge, 'clashes' | 'theirs'> {
  const clashes = edits
    .filter((edit) => rolesIn(before, edit) !== rolesIn(stored, edit))
    .map((edit) => {
      const mine = edit.roles?.join(', ') ?? ''
      return { field: nameOf(edit), mine, theirs: rolesIn(stored, edit) }
    })
  return { clashes, theirs: differences(before, stored) }
}
