import { readFileSync, statSync } from 'node:fs'
import type { TObject, TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { type ConfigProblem, redactUrl } from './error.ts'
import { FORMATS, type FormatName } from './formats.ts'
import { proposal } from './nearest.ts'
import { ConfigSchema, isSection, type Leaf, leavesOf } from './schema.ts'

/** A value and its source: a file or a variable. */
export type ConfigSetting = { readonly value: unknown; readonly source: string }

/** The settings of one source by path, and its problems. */
export type Layer = {
  readonly settings: ReadonlyMap<string, ConfigSetting>
  readonly problems: readonly ConfigProblem[]
}

/** The variable with the path of the settings file; not a `_FILE` variable of a setting. */
export const FILE_VARIABLE = 'TOLLGATE_CONFIG'

const LEAVES = leavesOf(ConfigSchema)
const PATHS = LEAVES.map((leaf) => leaf.path)
const SECTIONS = Object.keys(ConfigSchema.properties)
const VARIABLES = LEAVES.map((leaf) => leaf.variable)
const LEAF_BY_VARIABLE = new Map(LEAVES.map((leaf) => [leaf.variable, leaf]))

/** Settings of a parsed YAML document. An empty document, or an empty section, sets nothing. */
export function documentLayer(document: unknown, source: string): Layer {
  const settings = new Map<string, ConfigSetting>()
  const problems: ConfigProblem[] = []
  const visit = (value: unknown, schema: TObject, prefix: string): void => {
    if (value === null || value === undefined) return
    if (!isMapping(value)) {
      const key = prefix === '' ? 'document' : prefix
      problems.push({ key, source, reason: 'must be a section with keys of its own' })
      return
    }
    for (const [key, child] of Object.entries(value)) {
      const path = prefix === '' ? key : `${prefix}.${key}`
      const properties: Record<string, TSchema> = schema.properties
      const childSchema = Object.hasOwn(properties, key) ? properties[key] : undefined
      if (childSchema === undefined) {
        const reason = `is not a known setting${proposal(path, [...PATHS, ...SECTIONS])}`
        problems.push({ key: path, source, reason })
      } else if (isSection(childSchema)) {
        visit(child, childSchema, path)
      } else {
        const reason = problemOf(childSchema, child)
        if (reason === undefined) settings.set(path, { value: child, source })
        else problems.push({ key: path, source, reason })
      }
    }
  }
  visit(document, ConfigSchema, '')
  return { settings, problems }
}

/** Suffix of variables that name a file with the value, as orchestrators mount secrets. */
const FILE_SUFFIX = '_FILE'

/**
 * Settings of all variables that begin with `TOLLGATE_`. A variable with the suffix `_FILE` has the
 * path of a file with the value.
 */
export function environmentLayer(env: Readonly<Record<string, string | undefined>>): Layer {
  const settings = new Map<string, ConfigSetting>()
  const problems: ConfigProblem[] = []
  for (const [name, raw] of Object.entries(env)) {
    if (!name.startsWith('TOLLGATE_') || name === FILE_VARIABLE || raw === undefined) continue
    const own = LEAF_BY_VARIABLE.get(name)
    const leaf = own ?? LEAF_BY_VARIABLE.get(valueVariableOf(name))
    if (leaf === undefined) {
      const reason = `is not a known setting${proposal(name, [...VARIABLES, FILE_VARIABLE])}`
      problems.push({ key: name, source: 'environment', reason })
      continue
    }
    // Compose files set a variable to the empty text if no value is given.
    if (own !== undefined && raw === '' && env[name + FILE_SUFFIX] !== undefined) continue
    const read = own === undefined ? readValue(leaf, raw) : readText(leaf.schema, raw)
    const isTwice = own === undefined && (env[leaf.variable] ?? '') !== ''
    const reason = isTwice ? `is given twice, also by ${leaf.variable}` : read.reason
    if (reason === undefined) settings.set(leaf.path, { value: read.value, source: name })
    else problems.push({ key: leaf.path, source: name, reason })
  }
  return { settings, problems }
}

/** The variable of the setting whose file this variable names; otherwise the name itself. */
export function valueVariableOf(name: string): string {
  return name.endsWith(FILE_SUFFIX) ? name.slice(0, -FILE_SUFFIX.length) : name
}

interface ParsedValue {
  readonly value?: unknown
  /** Undefined if the value is valid. */
  readonly reason?: string | undefined
}

function readText(schema: TSchema, raw: string): ParsedValue {
  const value = fromText(schema, raw)
  return { value, reason: problemOf(schema, value) }
}

const FILE_BYTES_MAX = 1024 * 1024

/** The value in a file, trimmed; for a list, one item per line. */
function readValue({ schema }: Leaf, path: string): ParsedValue {
  let text: string
  try {
    if (statSync(path).size > FILE_BYTES_MAX) return { reason: 'names a file that is too large' }
    text = readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    return { reason: `names a file that cannot be read: ${code}` }
  }
  if (text.trim() === '') return { reason: 'names a file that is empty' }
  const lines = text.split('\n').map((line) => line.trim())
  const value =
    schema['type'] === 'array' ? lines.filter((line) => line !== '') : fromText(schema, text)
  if (Value.Check(schema, value)) return { value }
  return { reason: `${expectation(schema)} (what is in the file is not shown)` }
}

function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** URLs that may contain a password. */
const SECRET_URLS: ReadonlySet<string> = new Set(['redis-url', 'mongo-url', 'smtp-url'])

/** Why a value is invalid; undefined if it is valid. */
function problemOf(schema: TSchema, value: unknown): string | undefined {
  if (Value.Check(schema, value)) return undefined
  if (isSecretText(schema)) return `${expectation(schema)} (what is written there is not shown)`
  const isSecret = SECRET_URLS.has(String(schema['format']))
  if (isSecret && typeof value === 'string' && !URL.canParse(value)) {
    // The password in a malformed URL cannot be located.
    return `${expectation(schema)} (what is written there is not shown)`
  }
  return `${expectation(schema)}, not ${displayText(value)}`
}

function isSecretText(schema: TSchema): boolean {
  if (schema['areSecret'] === true) return true
  return (schema['type'] === 'array' ? schema['items'] : schema)['format'] === 'secret'
}

function expectation(schema: TSchema): string {
  if (Array.isArray(schema['anyOf'])) {
    return `must be one of ${schema['anyOf'].map((option: TSchema) => option['const']).join(', ')}`
  }
  if (schema['type'] === 'array') return expectation(schema['items'])
  if (schema['type'] === 'object') return `${schema.description} (JSON in a variable)`
  if (schema['type'] === 'integer') {
    return `must be an integer from ${schema['minimum']} to ${schema['maximum']}`
  }
  if (schema['type'] === 'boolean') return 'must be true or false'
  const format: string | undefined = schema['format']
  return format === undefined
    ? 'must be a text that is not empty'
    : FORMATS[format as FormatName].expects
}

function displayText(value: unknown): string {
  if (value === null) return 'empty'
  if (Array.isArray(value)) return `[${value.map(displayText).join(', ')}]`
  if (typeof value === 'object') return 'a section'
  return typeof value === 'string' ? `'${redactUrl(value)}'` : String(value)
}

/** Converts a text by the type of its setting; returns the text if that is not possible. */
function fromText(schema: TSchema, raw: string): unknown {
  const trimmed = raw.trim()
  if (schema['type'] === 'array') return listFrom(trimmed)
  if (schema['type'] === 'object') return jsonFrom(trimmed)
  if (schema['type'] === 'boolean') return { true: true, false: false }[trimmed] ?? raw
  const isNumeric = schema['type'] === 'integer' || typeof schema['anyOf']?.[0]?.const === 'number'
  if (isNumeric && /^-?\d+$/.test(trimmed)) return Number(trimmed)
  return isNumeric ? raw : trimmed
}

function listFrom(text: string): readonly string[] {
  return text === '' ? [] : text.split(',').map((item) => item.trim())
}

function jsonFrom(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
