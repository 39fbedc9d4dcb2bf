/** Settings of the installation, by category and path. */
import { call, get, getAnswer } from './client.ts'
import { Refusal } from './errors.ts'

export interface Category {
  readonly category: string
  readonly about: string
  readonly settable: boolean
  readonly instead?: string
}

export interface Setting {
  /** The stored value, without secrets. */
  readonly value: unknown
  /** With defaults, where the API tells it. */
  readonly effective?: unknown
  /** 0 if nothing is stored. */
  readonly rev: number
}

export interface Version {
  readonly rev: number
  readonly changed: string
  readonly changed_by: string
}

export async function readCategories(signal: AbortSignal): Promise<readonly Category[]> {
  return (await get('api/settings', { action: 'list' }, { signal })) as readonly Category[]
}

/** Throws `Refusal`. */
export async function readSetting(
  category: string,
  { rev, signal }: { rev?: number; signal?: AbortSignal } = {},
): Promise<Setting> {
  const query = { category, ...(rev !== undefined && { rev: String(rev) }) }
  const options = { hasPlainNumbers: true, ...(signal && { signal }) }
  const answer = await getAnswer('api/settings', query, options)
  const { details: value, ...rest } = answer as { details: unknown } & Omit<Setting, 'value'>
  return { ...rest, value }
}

export async function readVersions(category: string, signal?: AbortSignal) {
  const query = { action: 'history', category }
  const versions = await get('api/settings', query, signal && { signal })
  return versions as readonly Version[]
}

export interface Change {
  readonly action: 'set' | 'unset' | 'restore'
  readonly category: string
  readonly path?: string
  readonly data?: unknown
  /** The revision that was read, of `set` and `unset`; the version to restore, of `restore`. */
  readonly rev?: number
  readonly validate?: boolean
}

/** Resolves with what the API tells: of a client its secret, once. Throws `Refusal`. */
export function changeSetting(change: Change, signal?: AbortSignal): Promise<unknown> {
  const mayRepeat = change.validate === true
  return call('api/settings', change as never, { mayRepeat, ...(signal && { signal }) })
}

/** Somebody else has changed the category since it was read. */
export interface SettingConflict {
  readonly present: Setting
  readonly author: string
}

/** Why a change was refused, if it is another one's change; null otherwise. Throws `Refusal`. */
export async function conflictOf(
  error: unknown,
  category: string,
): Promise<SettingConflict | null> {
  if (!(error instanceof Refusal) || error.kind !== 'conflict') return null
  const present = await readSetting(category)
  const [last] = await readVersions(category)
  return { present, author: last?.changed_by ?? '' }
}
