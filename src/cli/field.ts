/** `tollgate field list`, `set`, `remove`: configured fields of entity collections. */
import { readFieldSettings } from '../catalog/settings/stored-config.ts'
import { FieldError, isObject } from '../domain/fields.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import type { CollectionDefinition } from '../entities/definitions/definition.ts'
import { categoryOf, fieldsOf, storedList, withStoredList } from '../entities/fields/configured.ts'
import { DEFAULT_FIELDS } from '../entities/fields/defaults.ts'
import type { FieldDefinition } from '../entities/fields/field-definition.ts'
import { readDocument } from './document-file.ts'
import { CommandError, UsageError } from './errors.ts'
import { writeConfigByOperator } from './operator.ts'
import type { OptionValues } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** Lists the default fields too. */
export async function listFields(
  shell: Shell,
  collection: string,
  options: OptionValues,
): Promise<0> {
  const definition = definitionOf(collection)
  const settings = await withCatalog(shell.config(), readFieldSettings)
  const fields = asCommandError(() => fieldsOf(definition, settings), 'stored: ', '')
  const stored = storedList(definition, settings[categoryOf(definition)]).map(nameOf)
  const from = ({ field_name: name }: FieldDefinition) => originOf(definition, name, stored)
  if (options['json'] === true) {
    shell.print(JSON.stringify(fields.map((field) => ({ ...field, from: from(field) }))))
    return 0
  }
  const rows = fields.map((field) => [
    field.field_name,
    from(field),
    field.type ?? 'any',
    switchesOf(field),
    field.title ?? '',
  ])
  for (const line of aligned([['name', 'from', 'type', 'is', 'title'], ...rows])) shell.print(line)
  return 0
}

/** Stores all definitions in `source` or none. Throws `CommandError`. */
export async function setFields(shell: Shell, collection: string, source: string): Promise<0> {
  const definition = definitionOf(collection)
  const definitions = definitionsIn(await readDocument(shell, source))
  if (definitions.length === 0) throw new CommandError(`${source} has no fields`)
  asCommandError(() => withStoredList(definition, {}, definitions), `${source}: `)
  const named = new Map(definitions.map((field) => [nameOf(field), field]))
  let created: string[] = []
  await changeFields(shell, definition, (stored) => {
    const names = new Set(stored.map(nameOf))
    created = [...named.keys()].filter((name) => !names.has(name))
    const kept = stored.map((field) => named.get(nameOf(field)) ?? field)
    return [...kept, ...created.map((name) => named.get(name))]
  })
  for (const name of named.keys()) {
    const suffix = isDefaultField(definition, name) ? ', replacing the default field' : ''
    shell.print(created.includes(name) ? `created ${name}${suffix}` : `replaced ${name}`)
  }
  return 0
}

export async function removeField(shell: Shell, collection: string, name: string): Promise<0> {
  const definition = definitionOf(collection)
  const isFirst = isDefaultField(definition, name)
  await changeFields(shell, definition, (stored) => {
    const kept = stored.filter((field) => nameOf(field) !== name)
    if (kept.length < stored.length) return kept
    if (isFirst) throw new CommandError(`${name} is a default field and cannot be removed`)
    const hint = `see 'tollgate field list ${collection}'`
    throw new CommandError(`${collection} have no field ${name}: ${hint}`)
  })
  shell.print(isFirst ? `removed ${name}: the default field applies again` : `removed ${name}`)
  return 0
}

function definitionOf(collection: string): CollectionDefinition {
  const definition = DEFINITIONS.get(collection)
  if (definition !== undefined && definition.configuredFieldsPath !== null) return definition
  const having = [...DEFINITIONS.values()].filter(
    ({ configuredFieldsPath }) => configuredFieldsPath !== null,
  )
  const names = having.map(({ name }) => name).join(', ')
  throw new UsageError(`fields can be configured for ${names}, not for '${collection}'`)
}

async function changeFields(
  shell: Shell,
  definition: CollectionDefinition,
  change: (stored: readonly unknown[]) => readonly unknown[],
): Promise<void> {
  const changed = (value: unknown) =>
    asCommandError(() => withStoredList(definition, value, change(storedList(definition, value))))
  await withCatalog(shell.config(), (catalog) =>
    writeConfigByOperator(catalog, categoryOf(definition), changed),
  )
}

/** Accepts one definition, a list, or either under `fields`. */
function definitionsIn(value: unknown): readonly unknown[] {
  const list = isObject(value) && Object.hasOwn(value, 'fields') ? value['fields'] : value
  return Array.isArray(list) ? list : [list]
}

function nameOf(field: unknown): string {
  return isObject(field) ? String(field['field_name'] ?? '') : ''
}

function isDefaultField({ name }: CollectionDefinition, field: string): boolean {
  return (DEFAULT_FIELDS[name] ?? []).some(({ field_name }) => field_name === field)
}

function originOf(definition: CollectionDefinition, name: string, stored: readonly string[]) {
  if (!stored.includes(name)) return 'start'
  return isDefaultField(definition, name) ? 'stored, in place of the one from the start' : 'stored'
}

const SWITCHES = ['mandatory', 'unique', 'multiple', 'searchable', 'generated'] as const

function switchesOf(field: FieldDefinition): string {
  const set = SWITCHES.filter((each) => field[each] === true)
  return [...set, ...(field.editable === false ? ['fixed'] : [])].join(' ')
}

function asCommandError<T>(act: () => T, where = '', after = ': nothing was changed'): T {
  try {
    return act()
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    throw new CommandError(`${where}${error.message}${after}`, { cause: error })
  }
}
