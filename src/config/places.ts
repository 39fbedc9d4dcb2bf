/**
 * Settings whose members the operator names: places of files (`transfer.places`), and sources of
 * usage records (`intake.sources`).
 */
import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import type { Config } from './schema.ts'

/** A member of a setting cannot be used. It has no secret. */
export class SettingError extends Error {
  override name = 'SettingError'
  /** Path of the wrong value. */
  readonly key: string
  readonly reason: string

  constructor(key: string, reason: string) {
    super(`${key} ${reason}`)
    this.key = key
    this.reason = reason
  }
}

const object = <T extends Record<string, TSchema>>(properties: T) =>
  Type.Object(properties, { additionalProperties: false })
const text = (minLength = 1, maxLength = 1024) => Type.String({ minLength, maxLength })

const FOLDER = object({ url: text() })
const SFTP = object({
  url: text(),
  hostKey: Type.String({ pattern: '^SHA256:[A-Za-z0-9+/]{43}$' }),
  secret: text(),
})
const S3 = object({
  url: text(),
  endpoint: Type.String({ pattern: '^https?://[^/@?#]+/?$' }),
  region: text(),
  pathStyle: Type.Optional(Type.Boolean()),
  accessKeyId: text(),
  secret: text(),
})
const SOURCE = object({
  place: text(1, 256),
  fileType: text(1, 256),
  folder: Type.Optional(text(0, 256)),
  pattern: Type.Optional(text(1, 256)),
  stableMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 86_400_000 })),
  marker: Type.Optional(text(1, 256)),
})

/** The members of these settings that cannot be used, each with the name of its setting. */
export function memberProblems({
  transfer,
  intake,
}: Pick<Config, 'transfer' | 'intake'>): { setting: string; error: SettingError }[] {
  const checks = [
    ...Object.keys(transfer.places).map((name) => {
      return ['transfer.places', () => placeOf(transfer, name)] as const
    }),
    ...Object.entries(intake.sources).map(([name, source]) => {
      const check = () => {
        const { place } = sourceEntry(name, source)
        if (transfer.places[place] !== undefined) return
        throw new SettingError(`intake.sources.${name}.place`, 'names none of transfer.places')
      }
      return ['intake.sources', check] as const
    }),
  ]
  return checks.flatMap(([setting, check]) => {
    try {
      check()
      return []
    } catch (error) {
      if (error instanceof SettingError) return [{ setting, error }]
      throw error
    }
  })
}

/** A folder, an SFTP server or a bucket. */
export type PlaceSettings =
  | { kind: 'folder'; root: string }
  | {
      kind: 'sftp'
      host: string
      port: number
      user: string
      root: string
      hostKey: string
      secret: string
    }
  | {
      kind: 's3'
      bucket: string
      prefix: string
      endpoint: string
      region: string
      pathStyle: boolean
      accessKeyId: string
      secret: string
    }

/** Throws `SettingError`. */
export function placeOf(
  { places, secrets }: Pick<Config['transfer'], 'places' | 'secrets'>,
  name: string,
): PlaceSettings {
  const place = places[name]
  if (place === undefined) throw new SettingError('transfer.places', `has no place named '${name}'`)
  const at = `transfer.places.${name}`
  const refuse = (key: string, reason: string): never => {
    throw new SettingError(`${at}.${key}`, reason)
  }
  const url =
    urlOf(place) ?? refuse('url', 'must be file:///…, sftp://user@host/… or s3://bucket/…')
  if (url.password !== '' || url.search !== '' || url.hash !== '') {
    return refuse('url', 'must have no password, query or fragment')
  }
  const checked = <T extends TSchema>(schema: T) => settingsAt(schema, place, at)
  const secretNamed = (secret: string): string =>
    secrets[secret] ?? refuse('secret', 'names none of transfer.secrets')
  const decoded = (encoded: string): string => {
    try {
      return decodeURIComponent(encoded)
    } catch {
      return refuse('url', 'has a % that encodes nothing')
    }
  }
  const path = decoded(url.pathname)
  if (url.protocol === 'file:') {
    checked(FOLDER)
    if (url.host !== '') refuse('url', 'must be file:///path')
    return { kind: 'folder', root: path }
  }
  if (url.protocol === 'sftp:') {
    const { hostKey, secret } = checked(SFTP)
    if (url.hostname === '' || url.username === '') refuse('url', 'must be sftp://user@host/path')
    return {
      kind: 'sftp',
      host: url.hostname.replace(/^\[|\]$/g, ''),
      port: url.port === '' ? 22 : Number(url.port),
      user: decoded(url.username),
      root: path.startsWith('/~/') ? path.slice('/~/'.length) : path,
      ...{ hostKey, secret: secretNamed(secret) },
    }
  }
  const { endpoint, region, pathStyle = false, accessKeyId, secret } = checked(S3)
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname)) {
    refuse('url', 'must have the name of a bucket')
  }
  return {
    kind: 's3',
    bucket: url.hostname,
    prefix: path.replace(/^\/+|\/+$/g, '').replace(/.$/, '$&/'),
    ...{ endpoint, region, pathStyle, accessKeyId, secret: secretNamed(secret) },
  }
}

function urlOf(place: unknown): URL | null {
  const url = typeof place === 'object' && place !== null && 'url' in place ? place.url : null
  if (typeof url !== 'string' || !URL.canParse(url)) return null
  const parsed = new URL(url)
  return ['file:', 'sftp:', 's3:'].includes(parsed.protocol) ? parsed : null
}

export interface SourceEntry {
  readonly name: string
  /** A name of `transfer.places`. */
  readonly place: string
  /** A folder of the place; empty: its root. */
  readonly folder: string
  readonly fileType: string
  /** Patterns of file names: `*` stands for any characters, `?` for one. */
  readonly pattern: string
  /** A file is complete when it has not changed for so long. */
  readonly stableMs: number
  /** A file is complete when there is one with this name after its own; null: see `stableMs`. */
  readonly marker: string | null
}

const STABLE_MS = 30_000

/** Throws `SettingError`. */
export function sourceEntry(name: string, given: unknown): SourceEntry {
  const path = `intake.sources.${name}`
  // Part of the path of a folder, and of labels of metrics.
  if (!/^[A-Za-z0-9_-]{1,64}$/.test(name)) {
    throw new SettingError(path, 'must be a name of up to 64 letters, digits, _ and -')
  }
  const source = settingsAt(SOURCE, given, path)
  const { place, fileType, folder = '', pattern = '*', marker = null } = source
  if (marker !== null && source.stableMs !== undefined) {
    const reason = 'has marker and stableMs: one of them says when a file is complete'
    throw new SettingError(path, reason)
  }
  const { stableMs = STABLE_MS } = source
  const settings = { name, place, fileType, pattern, stableMs, marker }
  return { ...settings, folder: folder.replace(/\/+$/, '') }
}

function settingsAt<T extends TSchema>(schema: T, value: unknown, path: string): Static<T> {
  const [error] = Value.Errors(schema, value)
  if (error === undefined) return value as Static<T>
  throw new SettingError(`${path}${error.path.replaceAll('/', '.')}`, `is wrong: ${error.message}`)
}
