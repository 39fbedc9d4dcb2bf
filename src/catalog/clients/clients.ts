/** The clients that may use the control plane, compiled for use per request. */
import { createHash } from 'node:crypto'
import { FieldError } from '../../domain/fields.ts'
import { type Sealer, sealedWith } from '../sealing/sealing.ts'
import type { StoredSetting } from '../settings/current-settings.ts'
import {
  CLIENTS_CATEGORY,
  type ClientGrant,
  DEFAULT_GRANTS,
  type StoredClient,
  storedClient,
} from './client-settings.ts'

export interface ApiClient {
  /** Client id in OAuth 2.0. */
  readonly name: string
  /** Hash of the key, to compare with the presented key. */
  readonly keySha256: Buffer
  /** Changes when the client is created again or gets another key. Does not reveal the key. */
  readonly fingerprint: string
  readonly roles: readonly string[]
  readonly grants: readonly ClientGrant[]
}

/** A client whose signatures are accepted. */
export interface SigningClient {
  readonly name: string
  readonly key: string
  readonly roles: readonly string[]
}

/** A stored client that is invalid. */
export interface SkippedClient {
  /** `signature`: its signatures are rejected, but its tokens are accepted. */
  what: 'client' | 'signature'
  /** Empty if it has none. */
  name: string
  path: string
  reason: string
}

export interface ApiClients {
  /** Null if it does not exist, is disabled, or is not valid at the time. */
  byName(name: string, nowMs: number): ApiClient | null
  /** Clients that are valid at the time, in the order of the configuration. */
  signers(nowMs: number): readonly SigningClient[]
  readonly skipped: readonly SkippedClient[]
}

interface CompiledClient extends ApiClient {
  /** Null if it does not sign. */
  readonly signer: SigningClient | null
  readonly fromMs: number
  readonly toMs: number
}

/** For `CurrentSettings`, which caches by this object: create it once. */
export function clientsSetting(sealer: Sealer): StoredSetting<ApiClients> {
  return { category: CLIENTS_CATEGORY, read: (value) => compileClients(value ?? [], sealer) }
}

/** Never throws: invalid stored clients are left out and listed. */
export function compileClients(value: unknown, sealer: Sealer): ApiClients {
  const compiled = new Map<string, CompiledClient>()
  const skipped: SkippedClient[] = []
  const { used, skipped: unusable } = usableClients(value)
  skipped.push(...unusable)
  for (const { settings, path } of used) {
    if (settings.disabled === true) continue
    const { name, key: sealed } = settings
    const key = sealed === undefined ? null : sealer.open(sealed)
    const hash = settings.hash ?? (key === null ? null : hashOfKey(key))
    const at = { name, path: `${path}.key` }
    if (hash === null) skipped.push({ what: 'client', ...at, reason: cannotOpen(sealed) })
    else compiled.set(name, compileClient(settings, hash, key))
    if (hash !== null && sealed !== undefined && key === null) {
      skipped.push({ what: 'signature', ...at, reason: cannotOpen(sealed) })
    }
  }
  const isValid = ({ fromMs, toMs }: CompiledClient, nowMs: number) =>
    fromMs <= nowMs && nowMs < toMs
  return {
    skipped,
    byName(name, nowMs) {
      const found = compiled.get(name)
      return found !== undefined && isValid(found, nowMs) ? found : null
    },
    signers: (nowMs) =>
      [...compiled.values()].flatMap((each) => {
        return each.signer !== null && isValid(each, nowMs) ? [each.signer] : []
      }),
  }
}

/** Valid stored clients, including disabled ones; each name once. */
export function usableClients(value: unknown): {
  used: { settings: StoredClient; path: string }[]
  skipped: SkippedClient[]
} {
  const used: { settings: StoredClient; path: string }[] = []
  if (!Array.isArray(value)) {
    return { used, skipped: [{ ...UNNAMED, path: CLIENTS_CATEGORY, reason: 'must be a list' }] }
  }
  const skipped: SkippedClient[] = []
  for (const [index, each] of value.entries()) {
    const path = `${CLIENTS_CATEGORY}.${index}`
    try {
      const settings = storedClient(each, path)
      if (used.some((other) => other.settings.name === settings.name)) {
        throw new FieldError(`${path}.name`, `'${settings.name}' occurs twice`)
      }
      used.push({ settings, path })
    } catch (error) {
      if (!(error instanceof FieldError)) throw error
      const { path: at, reason } = error
      skipped.push({ what: 'client', name: nameOfClient(each), path: at, reason })
    }
  }
  return { used, skipped }
}

/** Empty if it has none. */
export function nameOfClient(value: unknown): string {
  if (typeof value !== 'object' || value === null || !('name' in value)) return ''
  return typeof value.name === 'string' ? value.name : ''
}

const UNNAMED = { what: 'client', name: '' } as const

/** SHA-256 in hexadecimal. Keys are random or long, so a dictionary attack is not feasible. */
export function hashOfKey(key: string): string {
  return createHash('sha256').update(key).digest('hex')
}

/**
 * Hash of the key of a stored client, also of one stored without a hash; null if it cannot be
 * opened.
 */
export function hashOfClient(value: unknown, sealer: Sealer): string | null {
  if (typeof value !== 'object' || value === null) return null
  const { hash, key } = value as { hash?: unknown; key?: unknown }
  if (typeof hash === 'string') return hash
  const opened = typeof key === 'string' ? sealer.open(key) : null
  return opened === null ? null : hashOfKey(opened)
}

function cannotOpen(sealed = ''): string {
  const id = sealedWith(sealed)
  const key = id === null ? 'another key' : `key ${id}`
  return `cannot be opened: it is sealed with ${key} (see 'tollgate secrets status')`
}

function compileClient(settings: StoredClient, hash: string, key: string | null): CompiledClient {
  const { name, roles, grants = DEFAULT_GRANTS, created_at: createdAt, from, to } = settings
  const identity = JSON.stringify([name, createdAt, hash])
  return {
    name,
    roles,
    grants,
    keySha256: Buffer.from(hash, 'hex'),
    fingerprint: hashOfKey(identity).slice(0, 32),
    signer: key === null ? null : { name, key, roles },
    fromMs: from === undefined ? Number.NEGATIVE_INFINITY : Date.parse(from),
    toMs: to === undefined ? Number.POSITIVE_INFINITY : Date.parse(to),
  }
}
