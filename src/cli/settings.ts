/**
 * `tollgate settings list`, `get`, `set`, `unset`, `history`, `restore`: the stored configuration.
 */
import { userInfo } from 'node:os'
import { stringify } from 'yaml'
import { createCategories } from '../admin/settings/categories.ts'
import { createSettings, type SettingAddress, type Settings } from '../admin/settings/settings.ts'
import type { Actor } from '../catalog/actor.ts'
import { createAudit } from '../catalog/audit/audit.ts'
import { systemClock } from '../runtime/clock.ts'
import { readDocument } from './document-file.ts'
import { UsageError } from './errors.ts'
import { type OptionValues, optionalText } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

export async function listSettings(shell: Shell, options: OptionValues): Promise<0> {
  const listed = await withSettings(shell, async (settings) => settings.list())
  if (options['json'] === true) {
    shell.print(JSON.stringify(listed))
    return 0
  }
  const rows = listed.map(({ category, about, settable }) => [
    category,
    settable ? 'yes' : 'no',
    about,
  ])
  for (const line of aligned([['category', 'settable', 'about'], ...rows])) shell.print(line)
  return 0
}

/** Prints YAML, or with `--json` the representation of the API. */
export async function getSetting(
  shell: Shell,
  category: string,
  options: OptionValues,
): Promise<0> {
  const address = addressOf(category, revIn(options))
  const read = await withSettings(shell, (settings) => settings.get(address))
  if (options['json'] === true) {
    shell.print(JSON.stringify(read))
    return 0
  }
  shell.print(stringify(read.details).trimEnd())
  if (read.effective !== undefined) {
    shell.print(`# effective, with defaults:\n${commented(stringify(read.effective))}`)
  }
  return 0
}

function commented(text: string): string {
  return text.trimEnd().replaceAll(/^/gm, '#   ')
}

/** `source`: a file, or `-` for standard input. */
export async function setSetting(
  shell: Shell,
  category: string,
  source: string,
  options: OptionValues,
): Promise<0> {
  const address = addressOf(category, revIn(options))
  const data = await readDocument(shell, source)
  const { details, rev } = await withSettings(shell, (settings) =>
    settings.set(address, data, { actor: localUser() }),
  )
  shell.print(`set ${category}: rev ${rev}`)
  shell.print(stringify(details).trimEnd())
  return 0
}

export async function unsetSetting(
  shell: Shell,
  category: string,
  options: OptionValues,
): Promise<0> {
  const address = addressOf(category, revIn(options))
  const { rev } = await withSettings(shell, (settings) =>
    settings.unset(address, undefined, { actor: localUser() }),
  )
  shell.print(`unset ${category}: rev ${rev}`)
  return 0
}

export async function showHistory(
  shell: Shell,
  category: string,
  options: OptionValues,
): Promise<0> {
  const versions = await withSettings(shell, (settings) =>
    settings.history(addressOf(category, null)),
  )
  if (options['json'] === true) {
    shell.print(JSON.stringify(versions))
    return 0
  }
  if (versions.length === 0) shell.print(`nothing was ever stored for ${category}`)
  const rows = versions.map(({ rev, changed, changed_by: by, actor }, index) => [
    String(rev),
    index === 0 ? 'holds' : '',
    changed.toISOString(),
    by,
    actor === null ? '' : [actor.by, actor.name, actor.address].filter(Boolean).join(' '),
  ])
  if (rows.length > 0) {
    for (const line of aligned([['rev', '', 'changed', 'by', 'who'], ...rows])) shell.print(line)
  }
  return 0
}

export async function restoreSetting(
  shell: Shell,
  category: string,
  version: string,
  options: OptionValues,
): Promise<0> {
  const old = revOf(version, 'REV')
  const address = addressOf(category, revIn(options))
  const { rev } = await withSettings(shell, (settings) =>
    settings.restore(address, old, { actor: localUser() }),
  )
  shell.print(`restored ${category} as it was at rev ${old}: rev ${rev}`)
  return 0
}

function addressOf(category: string, rev: number | null): SettingAddress {
  return { category, path: '', rev }
}

function revIn(options: OptionValues): number | null {
  const text = optionalText(options, 'rev')
  return text === undefined ? null : revOf(text, '--rev')
}

function revOf(text: string, name: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text)
  throw new UsageError(`${name} must be an integer, as 'settings history' shows it`)
}

/** The operating-system user; without a name if it has none. */
function localUser(): Actor {
  return { by: 'cli', id: '', name: userName(), address: '' }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    // In a container the user id may have no name.
    return ''
  }
}

function withSettings<T>(shell: Shell, act: (settings: Settings) => Promise<T>): Promise<T> {
  const config = shell.config()
  return withCatalog(config, (catalog) => {
    const audit = createAudit(catalog)
    const categories = createCategories(config)
    return act(createSettings({ catalog, audit, clock: systemClock, categories }))
  })
}
