/** `tollgate filetype set`, `list`, `show`, `remove`: message formats of network elements. */
import { stringify } from 'yaml'
import { readStoredConfig } from '../catalog/settings/stored-config.ts'
import type { Config } from '../config/schema.ts'
import { FieldError, isObject } from '../domain/fields.ts'
import { builtInFileTypes, PLAIN_JSON } from '../file-types/built-in.ts'
import { fileTypeDefaultsOf } from '../file-types/defaults.ts'
import {
  checkedFileType,
  type InstalledFileType,
  installedFileTypes,
  nameOfFileType,
  pathOfFileType,
} from '../file-types/installed.ts'
import { readDocument } from './document-file.ts'
import { CommandError } from './errors.ts'
import { writeConfigByOperator } from './operator.ts'
import type { OptionValues } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** Stores all documents in `source` or none. Throws `CommandError`. */
export async function setFileTypes(shell: Shell, source: string): Promise<0> {
  const config = shell.config()
  const documents = checkedDocuments(await readDocument(shell, source), source, config)
  let created: string[] = []
  await changeFileTypes(config, (stored) => {
    const names = new Set(stored.map(nameOfFileType))
    created = [...documents.keys()].filter((name) => !names.has(name))
    const kept = stored.map((document) =>
      replacedBy(documents.get(nameOfFileType(document)), document),
    )
    return [...kept, ...created.map((name) => documents.get(name))]
  })
  for (const name of documents.keys()) {
    const suffix = builtInFileTypes().has(name) ? ', replacing the built-in one' : ''
    shell.print(created.includes(name) ? `created ${name}${suffix}` : `replaced ${name}`)
  }
  return 0
}

/** Samples that an operator has saved stay, unless the new document has its own. */
function replacedBy(document: unknown, stored: unknown): unknown {
  if (!isObject(document) || !isObject(stored)) return document ?? stored
  const { samples } = stored
  if (samples === undefined || document['samples'] !== undefined) return document
  return { ...document, samples }
}

export async function removeFileType(shell: Shell, name: string): Promise<0> {
  const isBuiltIn = builtInFileTypes().has(name)
  await changeFileTypes(shell.config(), (stored) => {
    const kept = stored.filter((document) => nameOfFileType(document) !== name)
    if (kept.length < stored.length) return kept
    const isFixed = isBuiltIn || name === PLAIN_JSON
    throw new CommandError(
      isFixed ? `${name} is built in and cannot be removed` : unknownName(name),
    )
  })
  shell.print(isBuiltIn ? `removed ${name}: the built-in one applies again` : `removed ${name}`)
  return 0
}

/** Prints the document in YAML. Throws `CommandError` for an unknown name. */
export async function showFileType(shell: Shell, name: string, options: OptionValues): Promise<0> {
  const document = await installedDocument(name, shell.config())
  const text = options['json'] === true ? JSON.stringify(document) : stringify(document)
  shell.print(text.trimEnd())
  return 0
}

/** Throws `CommandError` for an unknown name, or returns undefined if it need not exist. */
export async function installedDocument(
  name: string,
  config: Config,
  mustExist = true,
): Promise<unknown> {
  if (name === PLAIN_JSON) {
    throw new CommandError(`${name} is the plain format of docs/WIRE.md and has no document`)
  }
  const found = (await installed(config)).find((each) => each.name === name)
  if (found === undefined && mustExist) throw new CommandError(unknownName(name))
  return found?.document
}

/** Also lists file types that cannot be used, with the reason. */
export async function listFileTypes(shell: Shell, options: OptionValues): Promise<0> {
  const plain = { name: PLAIN_JSON, origin: 'built-in', parser: 'json', state: 'enabled' }
  const rows: Listed[] = [plain, ...(await installed(shell.config())).map(listed)]
  if (options['json'] === true) {
    shell.print(JSON.stringify(rows))
    return 0
  }
  const cells = rows.map(({ name, origin, parser, state, path, reason }) => [
    name,
    origin,
    parser,
    reason === undefined ? state : `${state}: ${path} ${reason}`,
  ])
  for (const line of aligned([['name', 'from', 'parser', 'state'], ...cells])) shell.print(line)
  return 0
}

interface Listed {
  name: string
  origin: string
  parser: string
  state: string
  /** For an unusable file type: the field, and why. */
  path?: string
  reason?: string
}

function listed({ name, origin, replaces, fileType, problem }: InstalledFileType): Listed {
  const from = origin === 'builtIn' ? 'built-in' : 'stored'
  const state = fileType?.isEnabled ? 'enabled' : 'disabled'
  return {
    name,
    origin: replaces ? `${from}, in place of the built-in one` : from,
    parser: fileType?.parser.type ?? '',
    state: problem === null ? state : 'unusable',
    ...problem,
  }
}

function unknownName(name: string): string {
  return `there is no file type ${name}: see 'tollgate filetype list'`
}

function installed(config: Config): Promise<InstalledFileType[]> {
  return withCatalog(config, async (catalog) => {
    const { file_types: stored } = await readStoredConfig(catalog)
    return installedFileTypes(stored, fileTypeDefaultsOf(config))
  })
}

function changeFileTypes(
  config: Config,
  change: (stored: readonly unknown[]) => unknown[],
): Promise<unknown> {
  const changed = (value: unknown) => {
    if (Array.isArray(value)) return change(value)
    throw new CommandError('the stored file_types are not a list: repair them first')
  }
  return withCatalog(config, (catalog) => writeConfigByOperator(catalog, 'file_types', changed))
}

/** The documents of a file by name. Throws `CommandError` with the path of the error. */
function checkedDocuments(value: unknown, source: string, config: Config): Map<string, unknown> {
  const defaults = fileTypeDefaultsOf(config)
  const checked = new Map<string, unknown>()
  for (const { document, path } of documentsIn(value)) {
    try {
      const { name } = checkedFileType(document, defaults, path)
      if (checked.has(name)) throw new FieldError(`${path}.file_type`, `'${name}' occurs twice`)
      checked.set(name, document)
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      throw new CommandError(`${source}: ${error.message}: nothing was changed`, { cause: error })
    }
  }
  if (checked.size === 0) throw new CommandError(`${source} has no documents`)
  return checked
}

function documentsIn(value: unknown): { document: unknown; path: string }[] {
  const list = isObject(value) && Object.hasOwn(value, 'file_types') ? value['file_types'] : value
  const documents: readonly unknown[] = Array.isArray(list) ? list : [list]
  return documents.map((document, index) => ({ document, path: pathOfFileType(document, index) }))
}
