/** The clients that may use the control plane, ready for use at every request. */
import { createHash } from 'node:crypto'
import type { Setting } from '../current-settings.ts'
import { CompileError } from '../errors.ts'
import type { Sealer } from '../sealing.ts'
import {
  CLIENTS_CATEGORY,
  type ClientGrant,
  DEFAULT_GRANTS,
  type StoredClient,
  storedClient,
} from './client-settings.ts'
import { crc32Hex } from './crc32.ts'

export interface Client {
  /** Its id in OAuth 2.0. */
  readonly name: string
  /** Of its key: what is presented is compared with it. */
  readonly keySha256: Buffer
  /** Another one when the client is made anew, or gets another key. Tells nothing of the key. */
  readonly fingerprint: string
  readonly roles: readonly string[]
  readonly grants: readonly ClientGrant[]
}

/** Whose signatures are good. */
export interface Signer {
  readonly name: string
  readonly key: string
  readonly roles: readonly string[]
}

/** A stored client that cannot be used, and does not get in. */
export interface SkippedClient {
  /** Empty if it has none. */
  name: string
  path: string
  reason: string
}

export interface Clients {
  /** Null: there is none, it is disabled, or it does not hold then. */
  byName(name: string, nowMs: number): Client | null
  /** Those that hold then, in the order of the configuration. */
  signers(nowMs: number): readonly Signer[]
  readonly skipped: readonly SkippedClient[]
}

interface Held extends Client {
  readonly signer: Signer
  readonly fromMs: number
  readonly toMs: number
}

/** For `CurrentSettings`: make it once, what it reads is kept by it. */
export function clientsSetting(sealer: Sealer): Setting<Clients> {
  return { category: CLIENTS_CATEGORY, read: (value) => compileClients(value ?? [], sealer) }
}

/** Never throws: a stored client that cannot be used is left out, and listed. */
export function compileClients(value: unknown, sealer: Sealer): Clients {
  const held = new Map<string, Held>()
  const skipped: SkippedClient[] = []
  const { used, skipped: unusable } = usableClients(value)
  skipped.push(...unusable)
  for (const { settings, path } of used) {
    if (settings.disabled === true) continue
    const key = sealer.open(settings.key)
    const reason = reasonAgainst(settings, key)
    if (key !== null && reason === null) held.set(settings.name, heldClient(settings, key))
    else skipped.push({ name: settings.name, path: `${path}.key`, reason: reason ?? UNOPENED })
  }
  const holds = ({ fromMs, toMs }: Held, nowMs: number) => fromMs <= nowMs && nowMs < toMs
  return {
    skipped,
    byName(name, nowMs) {
      const found = held.get(name)
      return found !== undefined && holds(found, nowMs) ? found : null
    },
    signers: (nowMs) =>
      [...held.values()].filter((each) => holds(each, nowMs)).map(({ signer }) => signer),
  }
}

/** Stored clients with a shape that can be used, also those that are disabled; each name once. */
export function usableClients(value: unknown): {
  used: { settings: StoredClient; path: string }[]
  skipped: SkippedClient[]
} {
  const used: { settings: StoredClient; path: string }[] = []
  if (!Array.isArray(value)) {
    return { used, skipped: [{ name: '', path: CLIENTS_CATEGORY, reason: 'must be a list' }] }
  }
  const skipped: SkippedClient[] = []
  for (const [index, each] of value.entries()) {
    const path = `${CLIENTS_CATEGORY}.${index}`
    try {
      const settings = storedClient(each, path)
      if (used.some((other) => other.settings.name === settings.name)) {
        throw new CompileError(`${path}.name`, `'${settings.name}' is there twice`)
      }
      used.push({ settings, path })
    } catch (error) {
      if (!(error instanceof CompileError)) throw error
      skipped.push({ name: nameOfClient(each), path: error.path, reason: error.reason })
    }
  }
  return { used, skipped }
}

/** Empty if it has none. */
export function nameOfClient(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('name' in value)) return ''
  return typeof value.name === 'string' ? value.name : ''
}

const UNOPENED = 'cannot be opened: it was stored with another secrets.key'

function reasonAgainst({ crc }: StoredClient, key: string | null): string | null {
  if (key === null) return UNOPENED
  return crc32Hex(key) === crc ? null : 'does not match its crc'
}

function heldClient(settings: StoredClient, key: string): Held {
  const { name, roles, grants = DEFAULT_GRANTS, created_at: createdAt, from, to } = settings
  const identity = JSON.stringify([name, createdAt, key])
  return {
    ...{ name, roles, grants },
    keySha256: sha256(key),
    fingerprint: sha256(identity).toString('hex').slice(0, 32),
    signer: { name, key, roles },
    fromMs: from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from),
    toMs: to === undefined ? Number.POSITIVE_INFINITY : Date.parse(to),
  }
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
