/** Seals all stored secrets with the current key: plain ones, and those sealed with old keys. */
import type { Actor } from '../actor.ts'
import { CLIENTS_CATEGORY } from '../clients/client-settings.ts'
import { hashOfClient, nameOfClient } from '../clients/clients.ts'
import type { Catalog } from '../connection.ts'
import { visitCardKey } from '../sealing/card-secrets.ts'
import { isSealed, PLAIN, type Sealer, sealedWith } from '../sealing/sealing.ts'
import { visitCustomerSecrets } from '../settings/customers/customer-secrets.ts'
import { visitNotificationSecret } from '../settings/events/notification-settings.ts'
import { secretsOf } from '../settings/money/gateway-settings.ts'
import { nameOf } from '../settings/money/payment-secrets.ts'
import { changeStoredConfig, readCategory, type StoredCategory } from '../settings/stored-config.ts'
import { visitCards } from './reseal-cards.ts'

export interface StoredSecret {
  readonly kind:
    | 'client'
    | 'directory'
    | 'second factor'
    | 'gateway'
    | 'card'
    | 'charge'
    | 'cards'
    | 'customer system'
    | 'notifications'
  readonly name: string
  /** `lost`: no available key can open it. */
  readonly state: 'sealed' | 'old key' | 'clear' | 'lost'
  /** Id of the key it is sealed with; null if it names none. */
  readonly key: string | null
}

export interface ResealResult {
  readonly sealed: number
  readonly lost: readonly StoredSecret[]
}

/** All stored secrets. Rejects with `CatalogUnavailableError`. */
export async function readStoredSecrets(catalog: Catalog, sealer: Sealer): Promise<StoredSecret[]> {
  const found: StoredSecret[] = []
  const note: SecretVisit = (kind, name, text) => {
    found.push({ kind, name, state: stateOf(text, sealer), key: sealedWith(text) })
    return text
  }
  for (const { category, walk } of CATEGORIES) {
    walk((await readCategory(catalog, category)).value, note, sealer)
  }
  for (const factor of await readFactors(catalog)) {
    for (const text of textsOf(factor)) note('second factor', factor.username, text)
  }
  await visitCards(catalog, note)
  await visitCardKey(catalog, note)
  return found
}

/**
 * Secrets that cannot be opened are left unchanged and listed. Idempotent, also if several
 * processes run it concurrently. Rejects with `CatalogUnavailableError` or `EntityConflictError`,
 * or with `SecretKeyError` if there is no key to seal with.
 */
export async function resealAll(
  catalog: Catalog,
  sealer: Sealer,
  { nowMs, actor }: { nowMs: number; actor: Actor },
): Promise<ResealResult> {
  const secrets = await readStoredSecrets(catalog, sealer)
  const reseal: SecretVisit = (_kind, _name, text) => resealed(text, sealer)
  for (const { category, walk } of CATEGORIES) {
    const { value } = await readCategory(catalog, category)
    if (!isChanged(value, walk(value, reseal, sealer))) continue
    const change = (stored: unknown) => walk(stored, reseal, sealer)
    const entry = () => ({ collection: 'settings', type: 'reseal', key: category, new: null })
    const by = { nowMs, by: actor.by, actor, audit: { actor, entry } }
    await changeStoredConfig(catalog, category, change, by)
  }
  for (const factor of await readFactors(catalog)) await resealFactor(catalog, factor, sealer)
  await visitCards(catalog, (_kind, _name, text) => resealedText(text, sealer))
  await visitCardKey(catalog, reseal)
  const isOpen = ({ state }: StoredSecret) => state === 'clear' || state === 'old key'
  return {
    sealed: secrets.filter(isOpen).length,
    lost: secrets.filter(({ state }) => state === 'lost'),
  }
}

/** Returns the replacement of a secret. */
type SecretVisit = (kind: StoredSecret['kind'], name: string, text: string) => string

interface SecretCategory {
  readonly category: StoredCategory
  /** Returns the value with its secrets replaced by `visit`; everything else is unchanged. */
  walk(value: unknown, visit: SecretVisit, sealer: Sealer): unknown
}

const CATEGORIES: readonly SecretCategory[] = [
  {
    category: 'subscribers',
    walk: (value, visit) =>
      visitCustomerSecrets(value, (name, text) => visit('customer system', name, text)),
  },
  {
    category: 'events',
    walk: (value, visit) =>
      visitNotificationSecret(value, (text) => visit('notifications', 'settings.http', text)),
  },
  {
    category: CLIENTS_CATEGORY,
    walk(value, visit, sealer) {
      if (!Array.isArray(value)) return value
      return value.map((client: unknown) => {
        if (!isObject(client) || typeof client['key'] !== 'string') return client
        const hash = hashOfClient(client, sealer)
        if (hash === null) {
          visit('client', nameOfClient(client), client['key'])
          return client
        }
        const { crc: _, ...others } = client
        return { ...others, hash, key: visit('client', nameOfClient(client), client['key']) }
      })
    },
  },
  {
    category: 'auth',
    walk(value, visit) {
      if (!isObject(value) || !Array.isArray(value['protocols'])) return value
      const protocols = value['protocols'].map((each: unknown) => {
        if (!isObject(each) || typeof each['bind_password'] !== 'string') return each
        const name = String(each['name'])
        return { ...each, bind_password: visit('directory', name, each['bind_password']) }
      })
      return { ...value, protocols }
    },
  },
  {
    category: 'payment_gateways',
    walk(value, visit) {
      if (!Array.isArray(value)) return value
      return value.map((each: unknown) => {
        if (!isObject(each) || !isObject(each['params'])) return each
        const secrets = secretsOf(each['name'])
        const params = Object.entries(each['params']).map(([name, text]) => {
          const isSecret = secrets.includes(name) && typeof text === 'string'
          return [name, isSecret ? visit('gateway', String(nameOf(each)), text) : text]
        })
        return { ...each, params: Object.fromEntries(params) }
      })
    },
  },
]

function stateOf(text: string, sealer: Sealer): StoredSecret['state'] {
  if (sealer.isCurrent(text)) return sealer.open(text) === null ? 'lost' : 'sealed'
  if (text.startsWith(PLAIN)) return 'clear'
  return sealer.open(text) === null ? 'lost' : 'old key'
}

/** Cards of other systems may have been stored in clear. */
function resealedText(text: string, sealer: Sealer): string {
  return isSealed(text) || text.startsWith(PLAIN) ? resealed(text, sealer) : sealer.seal(text)
}

function resealed(text: string, sealer: Sealer): string {
  if (sealer.isCurrent(text)) return text
  const clear = sealer.open(text)
  return clear === null ? text : sealer.seal(clear)
}

type Factor = Awaited<ReturnType<typeof readFactors>>[number]

function readFactors(catalog: Catalog) {
  return catalog.secondfactors.find({}).toArray()
}

function textsOf({ secret, pending }: Factor): string[] {
  return [secret, pending].filter((text) => text !== null)
}

async function resealFactor(catalog: Catalog, factor: Factor, sealer: Sealer): Promise<void> {
  for (const field of ['secret', 'pending'] as const) {
    const text = factor[field]
    const next = text === null ? null : resealed(text, sealer)
    if (next === null || next === text) continue
    // Only if it is unchanged: the user may be enrolling at the same time.
    await catalog.secondfactors.updateOne(
      { _id: factor._id, [field]: text },
      { $set: { [field]: next } },
    )
  }
}

function isChanged(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) !== JSON.stringify(after)
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
