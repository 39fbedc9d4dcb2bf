/**
 * The stored configuration, which operators change at run time. One document per category, read and
 * written as a whole; writers pass a function that maps the current value to the new one.
 */
import type { ClientSession } from 'mongodb'
import type { Actor } from '../actor.ts'
import { type AuditEntry, appendAudit } from '../audit/audit.ts'
import type { Catalog } from '../connection.ts'
import type { ConfigDocument } from '../records/config-document.ts'
import { sharedRead } from '../shared-read.ts'
import { takeRevs } from '../transactions/state.ts'
import { inTransaction } from '../trial.ts'
import { archiveVersion } from './config-history.ts'
import { redactCustomers } from './customers/customer-secrets.ts'
import { redactNotifications } from './events/notification-settings.ts'

/**
 * Categories that charging follows. `file_types`: a list of documents. `peers`: a list of network
 * elements (peers.ts). `taxation`: an object (taxation-settings.ts). `subscribers`: an object with
 * external customer mode (customer-settings.ts) in addition to configured fields. `events`: an
 * object with rules (event-settings.ts).
 */
export const CONFIG_CATEGORIES = [
  'file_types',
  'peers',
  'taxation',
  'subscribers',
  'events',
] as const

export type ConfigCategory = (typeof CONFIG_CATEGORIES)[number]

/**
 * Configured fields of the entity API: objects with lists of them, as `subscriber.fields` and
 * `account.fields` in `subscribers`, as `fields` in the others.
 */
export const FIELD_CATEGORIES = [
  'subscribers',
  'plans',
  'services',
  'rates',
  'prepaidgroups',
  'charges',
  'discounts',
  'taxes',
] as const

export type FieldCategory = (typeof FIELD_CATEGORIES)[number]

/** Objects that only the control plane reads. */
const FURTHER_CATEGORIES = [
  'plays',
  'invoices',
  'security',
  'auth',
  'shared_secret',
  'payment_gateways',
  'payments',
  'bills',
  'permissions',
  'lines',
  'billrun',
] as const

/** Categories with sealed secrets. */
const SECRET_CATEGORIES: readonly string[] = ['auth', 'shared_secret', 'payment_gateways']

export type StoredCategory = ConfigCategory | FieldCategory | (typeof FURTHER_CATEGORIES)[number]

/**
 * The stored value of every category; empty if nothing was stored. Not validated: its reader has to
 * check it.
 */
export type StoredConfig = Readonly<Record<ConfigCategory, unknown>>

/**
 * The stored value of every category of fields; an empty object if nothing was stored. Not
 * validated: its reader has to check it.
 */
export type FieldSettings = Readonly<Record<FieldCategory, unknown>>

export interface ConfigChange {
  nowMs: number
  /** Author of the change, such as `cli`. */
  by: string
  actor?: Actor
  /**
   * Returns the part of the replaced value to archive. If absent, the whole value; for categories
   * with secrets, nothing.
   */
  former?: (value: unknown) => unknown
  /** The audit record of the change; without it, nothing is recorded. */
  audit?: { actor: Actor; entry(former: unknown, value: unknown): AuditEntry }
  /** Everything happens but the commit. */
  isTrial?: boolean
}

/** Result of a change. */
export interface ConfigChangeResult<Value> {
  value: Value
  rev: number
  /** The previous value; empty if nothing was stored. */
  former: unknown
}

export async function readStoredConfig(catalog: Catalog): Promise<StoredConfig> {
  return (await readConfigDocuments(catalog)).config
}

/** Also returns a string that identifies this state. Rejects with `CatalogUnavailableError`. */
export async function readConfigDocuments(
  catalog: Catalog,
): Promise<{ config: StoredConfig; revision: string }> {
  const documents = await catalog.config.find({ _id: { $in: [...CONFIG_CATEGORIES] } }).toArray()
  const stored = (category: ConfigCategory) =>
    documents.find(({ _id }) => _id === category)?.value ?? emptyValueOf(category)
  const config = {
    file_types: stored('file_types'),
    peers: stored('peers'),
    taxation: stored('taxation'),
    subscribers: stored('subscribers'),
    events: stored('events'),
  }
  return { config, revision: revisionOf(documents) }
}

/** Rejects with `CatalogUnavailableError`. */
export async function readFieldSettings(catalog: Catalog): Promise<FieldSettings> {
  const documents = await catalog.config.find({ _id: { $in: [...FIELD_CATEGORIES] } }).toArray()
  const settings = FIELD_CATEGORIES.map((category) => {
    const stored = documents.find(({ _id }) => _id === category)
    return [category, stored?.value ?? emptyValueOf(category)] as const
  })
  return Object.fromEntries(settings) as FieldSettings
}

/** The same `revision` as that of `readConfigDocuments`, without reading the values. */
export async function readConfigRevision(catalog: Catalog): Promise<string> {
  const documents = await catalog.config
    .find({ _id: { $in: [...CONFIG_CATEGORIES] } })
    .project<Pick<ConfigDocument, '_id' | 'rev'>>({ rev: 1 })
    .toArray()
  return revisionOf(documents)
}

function revisionOf(documents: readonly Pick<ConfigDocument, '_id' | 'rev'>[]): string {
  const numberOf = (category: string) => documents.find(({ _id }) => _id === category)?.rev ?? 0
  return CONFIG_CATEGORIES.map(numberOf).join(' ')
}

const LISTS: readonly string[] = ['file_types', 'peers', 'shared_secret', 'payment_gateways']

/** The initial value of a category. */
export function emptyValueOf(category: StoredCategory): unknown {
  return LISTS.includes(category) ? [] : {}
}

/** The value of one category; `rev` is 0 if nothing was ever stored. */
export async function readCategory(
  catalog: Catalog,
  category: StoredCategory,
): Promise<{ value: unknown; rev: number }> {
  let read = readers.get(catalog)
  if (read === undefined) {
    read = sharedRead((all) => readCategories(catalog, all))
    readers.set(catalog, read)
  }
  const found = (await read(category)).find(({ _id }) => _id === category)
  return { value: found?.value ?? emptyValueOf(category), rev: found?.rev ?? 0 }
}

/** Each request reads settings: those at the same time do it together. */
const readers = new WeakMap<Catalog, (category: StoredCategory) => Promise<ConfigDocument[]>>()

function readCategories(
  catalog: Catalog,
  all: readonly StoredCategory[],
): Promise<ConfigDocument[]> {
  const names = [...new Set(all)]
  return catalog.config.find({ _id: { $in: names } }).toArray()
}

/** As `changeStoredConfig`, and returns the value as written. */
export async function writeStoredConfig<Value>(
  catalog: Catalog,
  category: StoredCategory,
  change: (value: unknown) => Value,
  by: ConfigChange,
): Promise<Value> {
  return (await changeStoredConfig(catalog, category, change, by)).value
}

/**
 * Replaces the value by the result of `change`, archives the old one and records the change, in one
 * transaction. `change` may be called again with the value of another writer, and must not modify
 * its argument. `rev` is the revision of the value, 0 if nothing was stored. If `change` throws,
 * nothing is written and the error is passed on. Rejects as `Catalog.transaction`.
 */
export async function changeStoredConfig<Value>(
  catalog: Catalog,
  category: StoredCategory,
  change: (value: unknown, rev: number) => Value,
  by: ConfigChange,
): Promise<ConfigChangeResult<Value>> {
  const write = async (session: ClientSession) => {
    const found = await catalog.config.findOne({ _id: category })
    const former = found?.value ?? emptyValueOf(category)
    const value = change(former, found?.rev ?? 0)
    if (found !== null) {
      await archiveVersion(catalog, session, found, valueForHistory(category, former, by))
    }
    const rev = takeRevs(session, 'config')
    const who = { changed_by: by.by, ...(by.actor && { actor: by.actor }) }
    const document = { _id: category, rev, value, changed: new Date(by.nowMs), ...who }
    await catalog.config.replaceOne({ _id: category }, document, { session, upsert: true })
    if (by.audit !== undefined) {
      appendAudit(session, by.audit.actor, by.nowMs, by.audit.entry(former, value))
    }
    return { value, rev, former }
  }
  return inTransaction(catalog, `change ${category}`, write, by.isTrial === true)
}

function valueForHistory(
  category: StoredCategory,
  value: unknown,
  { former }: ConfigChange,
): unknown {
  if (former !== undefined) return former(value)
  if (category === 'subscribers') return redactCustomers(value)
  if (category === 'events') return redactNotifications(value)
  return SECRET_CATEGORIES.includes(category) ? null : value
}
