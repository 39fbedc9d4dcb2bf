/**
 * Changes of the stored list of clients, for `writeStoredConfig`. The given list is not modified.
 * Each function throws `FieldError` if the change is invalid.
 */
import { randomBytes } from 'node:crypto'
import { FieldError } from '../../domain/fields.ts'
import { parseInstant } from '../../domain/time.ts'
import type { Catalog } from '../connection.ts'
import type { Sealer } from '../sealing/sealing.ts'
import {
  CLIENTS_CATEGORY,
  type ClientInput,
  checkClientInput,
  DEFAULT_GRANTS,
  type StoredClient,
  storedClient,
} from './client-settings.ts'
import { hashOfClient, hashOfKey, nameOfClient, usableClients } from './clients.ts'

export interface ClientChange {
  nowMs: number
  /** Author of the change. */
  by: string
  sealer: Sealer
  /** Time zone of dates without an offset. */
  timeZone: string
  /** Returns this many random bytes. */
  random?: (bytes: number) => Buffer
}

/** The changed list, and the new key, which is shown only once; null if the key did not change. */
export interface ChangedClients {
  list: readonly unknown[]
  secret: string | null
}

/** A client as returned to users who may read settings. */
export interface ClientView {
  name: string
  from: string | null
  to: string | null
  roles: readonly string[]
  grants: readonly string[]
  /** Whether the client may sign requests. */
  signature: boolean
  disabled: boolean
  created_at: string
  created_by: string
}

const KEY_BYTES = 16

/** The stored list. Rejects with `CatalogUnavailableError`. */
export async function readStoredClients(catalog: Catalog): Promise<unknown> {
  const found = await catalog.config.findOne({ _id: CLIENTS_CATEGORY })
  return found?.value ?? []
}

/**
 * Adds a client, or changes the one with the same name, which keeps the fields that are not given;
 * an empty string or null removes a date. A new client without a key gets a generated one. Without
 * roles it gets none, so that omitting a field never grants a role.
 */
export function withClient(value: unknown, fields: unknown, change: ClientChange): ChangedClients {
  const list = listOf(value)
  const input = checkClientInput(fields)
  const index = list.findIndex((each) => nameOfClient(each) === input.name)
  const old = index < 0 ? null : storedClient(list[index], `${CLIENTS_CATEGORY}.${index}`)
  const secret = input.key ?? (old === null ? newKey(change) : null)
  const client = merged(input, old, secret, change)
  if (secret !== null) checkKeyIsNew(list, client.name, secret, change.sealer)
  return { list: old === null ? [...list, client] : list.with(index, client), secret }
}

/** Removes the client with the name or key; its tokens become invalid. */
export function withoutClient(
  value: unknown,
  which: { name: string } | { key: string },
  { sealer }: Pick<ClientChange, 'sealer'>,
): { list: readonly unknown[] } {
  const list = listOf(value)
  const index = list.findIndex((each) =>
    'name' in which
      ? nameOfClient(each) === which.name
      : hashOfClient(each, sealer) === hashOfKey(which.key),
  )
  if (index < 0) {
    throw new FieldError('', 'name' in which ? unknownClient(which.name) : 'no client has that key')
  }
  return { list: list.toSpliced(index, 1) }
}

/** Replaces the key of a client. */
export function withNewKey(value: unknown, name: string, change: ClientChange): ChangedClients {
  const list = listOf(value)
  const index = list.findIndex((each) => nameOfClient(each) === name)
  if (index < 0) throw new FieldError('', unknownClient(name))
  const old = storedClient(list[index], `${CLIENTS_CATEGORY}.${index}`)
  const secret = newKey(change)
  const { key, crc: _, ...others } = old
  const stored = storedKey(secret, key !== undefined, change.sealer)
  return { list: list.with(index, { ...others, ...stored }), secret }
}

/** Valid clients, without keys and hashes. */
export function clientViews(value: unknown): ClientView[] {
  return usableClients(value).used.map(({ settings }) => ({
    name: settings.name,
    from: settings.from ?? null,
    to: settings.to ?? null,
    roles: settings.roles,
    grants: settings.grants ?? DEFAULT_GRANTS,
    signature: settings.key !== undefined,
    disabled: settings.disabled === true,
    created_at: settings.created_at,
    created_by: settings.created_by,
  }))
}

function merged(
  input: ClientInput,
  old: StoredClient | null,
  secret: string | null,
  change: ClientChange,
): StoredClient {
  const { nowMs, by, sealer, timeZone } = change
  const { name, roles = old?.roles ?? [], grants = old?.grants } = input
  const from = input.from === undefined ? old?.from : timeAt(input.from, 'from', timeZone)
  const to = input.to === undefined ? old?.to : timeAt(input.to, 'to', timeZone)
  if (from !== undefined && to !== undefined && from >= to) {
    throw new FieldError('to', 'must be later than from')
  }
  const disabled = input.disabled ?? old?.disabled ?? false
  const made = old ?? { created_at: new Date(nowMs).toISOString(), created_by: by }
  const maySign = input.signature ?? (old === null || old.key !== undefined)
  const keys =
    secret === null ? existingKey(old, maySign, sealer) : storedKey(secret, maySign, sealer)
  return {
    name,
    ...keys,
    roles,
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
    ...(grants === undefined ? {} : { grants }),
    created_at: made.created_at,
    created_by: made.created_by,
    ...(disabled ? { disabled } : {}),
  }
}

/** A key must identify one client, otherwise its signatures would be ambiguous. */
function checkKeyIsNew(list: readonly unknown[], name: string, key: string, sealer: Sealer): void {
  const hash = hashOfKey(key)
  const taken = list.some((each) => {
    return nameOfClient(each) !== name && hashOfClient(each, sealer) === hash
  })
  if (taken) throw new FieldError('key', 'is already used by another client')
}

type StoredKey = Pick<StoredClient, 'hash' | 'key'>

function storedKey(secret: string, maySign: boolean, sealer: Sealer): StoredKey {
  return { hash: hashOfKey(secret), ...(maySign && { key: sealer.seal(secret) }) }
}

/** Key fields of a client that keeps its key. */
function existingKey(old: StoredClient | null, maySign: boolean, sealer: Sealer): StoredKey {
  const hash = old === null ? null : hashOfClient(old, sealer)
  const sealed = old?.key
  if (maySign && sealed === undefined) {
    throw new FieldError('signature', 'needs a new key: only a hash of the current one is stored')
  }
  return { ...(hash !== null && { hash }), ...(maySign && sealed !== undefined && { key: sealed }) }
}

function newKey({ random = randomBytes }: ClientChange): string {
  return random(KEY_BYTES).toString('hex')
}

function timeAt(text: string | null, path: string, timeZone: string): string | undefined {
  if (text === null || text === '') return undefined
  const atMs = parseInstant(text, timeZone)
  if (atMs === null) throw new FieldError(path, 'must be a date, as in 2030-01-31 or ISO 8601')
  return new Date(atMs).toISOString()
}

function listOf(value: unknown): readonly unknown[] {
  if (Array.isArray(value)) return value
  throw new FieldError(CLIENTS_CATEGORY, 'is stored, but not as a list: correct it first')
}

function unknownClient(name: string): string {
  return `there is no client ${name}`
}
