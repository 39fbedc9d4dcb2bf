/** Writes a change of a category: validated, versioned and audited. */
import type { Actor } from '../../catalog/actor.ts'
import type { Audit } from '../../catalog/audit/audit.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { EntityConflictError } from '../../catalog/errors.ts'
import type { SettingsCache } from '../../catalog/settings/current-settings.ts'
import { changeStoredConfig, readCategory } from '../../catalog/settings/stored-config.ts'
import { EntityRuleError } from '../../requests/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { ReadSetting } from './answers.ts'
import type { Categories, Category } from './category.ts'
import type { Edit, Edited } from './edits.ts'
import { valueAt } from './paths.ts'

export interface SettingsDeps {
  readonly catalog: Catalog
  readonly audit: Audit
  readonly clock: Clock
  readonly categories: Categories
  /** The settings that this process uses. */
  readonly current?: Pick<SettingsCache, 'forget'>
}

/** Maximum size of a category's value as JSON. */
const BYTES_MAX = 1024 * 1024

export interface SettingChange {
  readonly category: Category
  /** Type of the audit entry. */
  readonly type: 'set' | 'unset' | 'restore'
  /** The revision to replace; null for the current one. */
  readonly rev: number | null
  readonly edit: Edit
  readonly actor: Actor
  /** Everything happens but the commit; `rev` of the result is the present one. */
  readonly isTrial: boolean
}

/**
 * Rejects like `Settings`; nothing was written in that case, unless MongoDB became unavailable
 * meanwhile.
 */
export async function writeChange(
  deps: Omit<SettingsDeps, 'categories'>,
  { category, type, rev: expected, edit, actor, isTrial }: SettingChange,
): Promise<ReadSetting> {
  const { catalog, clock, current } = deps
  const { name, view = (value: unknown) => value } = category
  const nowMs = clock.nowMs()
  let edited: Edited | undefined
  let presentRev = 0
  const make = (stored: unknown, rev: number) => {
    refuseOther(name, rev, expected)
    presentRev = rev
    edited = edit(stored, nowMs)
    checkWhole(category, edited.value, stored)
    return edited.value
  }
  if (category.verify !== undefined) {
    const now = await readCategory(catalog, name)
    const value = make(now.value, now.rev)
    await category.verify(value, now.value, { catalog, nowMs })
  }
  const entry = (old: unknown, value: unknown) => {
    return { collection: 'settings', type, key: name, old: view(old), new: view(value) }
  }
  const by = { nowMs, by: nameOf(actor), actor, audit: { actor, entry }, isTrial }
  const former = category.view === undefined ? {} : { former: view }
  const written = await translateConflict(() =>
    changeStoredConfig(catalog, name, make, { ...by, ...former }),
  )
  current?.forget(name)
  const after = view(written.value)
  const answer = edited?.response ?? { path: [] }
  if (isTrial) {
    // A new secret would be of no use.
    const details = 'once' in answer ? null : (valueAt(after, answer.path)?.value ?? null)
    return { details, rev: presentRev, valid: true }
  }
  const details = 'once' in answer ? answer.once : (valueAt(after, answer.path)?.value ?? null)
  return { details, rev: written.rev }
}

function nameOf({ by, name }: Actor): string {
  return by === 'cli' || name === '' ? by : name
}

function refuseOther(name: string, rev: number, expected: number | null): void {
  if (expected === null || expected === rev) return
  const is = rev === 0 ? 'has never been stored' : `is at rev ${rev}`
  throw new EntityRuleError(
    `${name} was changed by others: it ${is}, not at rev ${expected}`,
    'conflict',
  )
}

function checkWhole(category: Category, value: unknown, stored: unknown): void {
  const { name } = category
  const bytes = Buffer.byteLength(JSON.stringify(value) ?? '')
  if (bytes > BYTES_MAX) {
    throw new EntityRuleError(`${name} would have ${bytes} bytes: at most ${BYTES_MAX} are kept`, {
      path: 'data',
    })
  }
  category.check(value, stored)
}

async function translateConflict<T>(write: () => Promise<T>): Promise<T> {
  try {
    return await write()
  } catch (error) {
    if (error instanceof EntityConflictError) throw new EntityRuleError(error.message, 'refused')
    throw error
  }
}
