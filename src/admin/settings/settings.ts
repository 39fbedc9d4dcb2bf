/** Reads and changes the stored configuration, by category and path. */
import type { Actor } from '../../catalog/actor.ts'
import type { Catalog } from '../../catalog/connection.ts'
import {
  type ConfigVersion,
  readConfigVersion,
  readConfigVersions,
} from '../../catalog/settings/config-history.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { nearest } from '../../config/nearest.ts'
import { FieldError } from '../../domain/fields.ts'
import { EntityRuleError, fieldRule, TargetError } from '../../requests/errors.ts'
import type { ListedCategory, ReadSetting } from './answers.ts'
import type { Categories, Category, FixedCategory } from './category.ts'
import { type SettingsDeps, writeChange } from './change.ts'
import { editOf, nameInData, restoreEdit } from './edits.ts'
import { stepsOf, valueAt } from './paths.ts'

/** Address of a setting, as sent by callers. */
export interface SettingAddress {
  /** May include a path: `subscribers.account.fields`. */
  readonly category: string
  /** Further path segments; may be empty. */
  readonly path: string
  /**
   * Revision: for `get` the one to return, for changes the one to replace. Null for the current
   * one.
   */
  readonly rev: number | null
}

/**
 * Each rejects with `EntityRuleError`, `TargetError` or `FieldError` that names the error, and with
 * `CatalogUnavailableError`.
 */
export interface Settings {
  list(): ListedCategory[]
  get(address: SettingAddress): Promise<ReadSetting>
  set(address: SettingAddress, data: unknown, by: ChangeBy): Promise<ReadSetting>
  /** `data`: names the member of a list; undefined if the path does. */
  unset(address: SettingAddress, data: unknown, by: ChangeBy): Promise<ReadSetting>
  /** Newest first. */
  history(address: SettingAddress): Promise<ConfigVersion[]>
  /** Restores an older version of a whole category, except its secrets. */
  restore(address: SettingAddress, version: number, by: ChangeBy): Promise<ReadSetting>
}

export interface ChangeBy {
  readonly actor: Actor
  /** The change is checked, and not stored. */
  readonly isTrial?: boolean
}

export function createSettings(deps: SettingsDeps): Settings {
  const { catalog, categories } = deps
  const found = (address: SettingAddress) => changeable(categories, address)
  return {
    list: () => listOf(categories),
    async get(address) {
      const fixed = categories.fixed.get(nameOf(address))
      return fixed === undefined
        ? readStored(catalog, found(address), address)
        : read(fixed, address)
    },
    async set(address, data, { actor, isTrial = false }) {
      const category = found(address)
      const edit = editOf(category, 'set', stepsIn(address), data)
      const change = { category, type: 'set', rev: address.rev, edit, actor, isTrial } as const
      return writeChange(deps, change)
    },
    async unset(address, data, { actor, isTrial = false }) {
      const category = found(address)
      const steps = stepsIn(address)
      const isNamed = steps.length > 0 || category.special !== undefined
      const path = isNamed ? steps : nameInData(category, data)
      const edit = editOf(category, 'unset', path, data)
      const change = { category, type: 'unset', rev: address.rev, edit, actor, isTrial } as const
      return writeChange(deps, change)
    },
    async history(address) {
      const { name } = found(address)
      refusePath(address)
      return readConfigVersions(catalog, name)
    },
    async restore(address, version, { actor, isTrial = false }) {
      const category = found(address)
      refusePath(address)
      const edit = restoreEdit(category, await versionOf(catalog, category, version))
      const change = { category, type: 'restore', rev: address.rev, edit, actor, isTrial } as const
      return writeChange(deps, change)
    },
  }
}

/** Name of the category, without the path. */
export function nameOf({ category }: Pick<SettingAddress, 'category'>): string {
  return category.split('.', 1)[0] ?? ''
}

function stepsIn({ category, path }: SettingAddress): readonly string[] {
  const name = nameOf({ category })
  return [...stepsOf(category.slice(name.length + 1)), ...stepsOf(path)]
}

function refusePath(address: SettingAddress): void {
  if (stepsIn(address).length === 0) return
  throw new EntityRuleError('versions are of a whole category: the path must be empty', {
    path: 'path',
  })
}

function listOf({ stored, fixed }: Categories): ListedCategory[] {
  const listed = [
    ...[...stored].map(([category, { about }]) => ({ category, about, settable: true })),
    ...[...fixed].map(([category, { about, instead }]) => {
      return { category, about, settable: false, instead }
    }),
  ]
  return listed.sort((a, b) => (a.category < b.category ? -1 : 1))
}

const NAME_LENGTH_MAX = 64

/** Throws `EntityRuleError` if the category does not exist or cannot be changed. */
function changeable({ stored, fixed }: Categories, address: SettingAddress): Category {
  const name = nameOf(address)
  const category = stored.get(name)
  if (category !== undefined) return category
  const { instead } = fixed.get(name) ?? {}
  if (instead !== undefined) {
    throw new EntityRuleError(`${name} cannot be changed while the node runs: ${instead}`, {
      path: 'category',
    })
  }
  const known = [...stored.keys(), ...fixed.keys()].sort()
  if (name === '') throw fieldRule('category', `is missing: one of ${known.join(', ')}`, 'missing')
  const suggestion = name.length > NAME_LENGTH_MAX ? undefined : nearest(name, known)
  const hint =
    suggestion === undefined ? `there are ${known.join(', ')}` : `did you mean '${suggestion}'?`
  throw new EntityRuleError(`there is no category '${name.slice(0, NAME_LENGTH_MAX)}': ${hint}`, {
    path: 'category',
    code: 'unknown',
  })
}

function read({ value }: FixedCategory, address: SettingAddress): ReadSetting {
  return { details: requiredValueAt(value, address), rev: 0 }
}

async function readStored(
  catalog: Catalog,
  category: Category,
  address: SettingAddress,
): Promise<ReadSetting> {
  const { rev } = address
  const { view = (value: unknown) => value, effective } = category
  if (rev !== null) {
    const value = await versionOf(catalog, category, rev)
    return { details: requiredValueAt(view(value), address), rev }
  }
  const stored = await readCategory(catalog, category.name)
  const steps = stepsIn(address)
  // In the effective value the members of a list have other positions.
  const isByPosition = steps.some((step) => /^\d+$/.test(step))
  if (effective === undefined || isByPosition) {
    return { details: requiredValueAt(view(stored.value), address), rev: stored.rev }
  }
  const details = requiredValueAt(view(stored.value), address, true)
  const holds = effectiveOrNot(() => effective(stored.value))
  const there = valueAt(holds, steps)
  if (there === null && details === null) throw notThere(address)
  return { details, rev: stored.rev, effective: there?.value ?? null }
}

/** A stored value that is invalid, because others wrote it, has no effective value. */
function effectiveOrNot(make: () => unknown): unknown {
  try {
    return make()
  } catch (error) {
    if (error instanceof FieldError) return null
    throw error
  }
}

/** Null if the path does not exist and may be missing. Throws `TargetError` otherwise. */
function requiredValueAt(value: unknown, address: SettingAddress, mayMiss = false): unknown {
  const found = valueAt(value, stepsIn(address))
  if (found !== null) return found.value
  if (mayMiss) return null
  throw notThere(address)
}

function notThere({ category, path }: SettingAddress): TargetError {
  const whole = path === '' ? category : `${category}.${path}`
  return new TargetError(`nothing is stored at ${whole}`)
}

async function versionOf(catalog: Catalog, { name }: Category, rev: number): Promise<unknown> {
  const found = await readConfigVersion(catalog, name, rev)
  if (found === undefined) throw new TargetError(`${name} has no version ${rev}`)
  return found.value
}
