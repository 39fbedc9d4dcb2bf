/** Entities on real stores, written by the actions themselves. */
import { expect } from 'vitest'
import { STORED_CUSTOMERS } from '../../../../src/billing/customer-lookup.ts'
import { ObjectId } from '../../../../src/catalog/collections.ts'
import { createSealer } from '../../../../src/catalog/sealing/sealing.ts'
import { loadConfig } from '../../../../src/config/load.ts'
import type { Fields } from '../../../../src/domain/fields.ts'
import { change } from '../../../../src/entities/actions/change.ts'
import { create } from '../../../../src/entities/actions/create.ts'
import { DEFINITIONS } from '../../../../src/entities/definitions/collections.ts'
import type {
  ActionName,
  CollectionDefinition,
} from '../../../../src/entities/definitions/definition.ts'
import type { EntityStores, WriteResult } from '../../../../src/entities/requests/entity-request.ts'
import { createRules } from '../../../../src/entities/rules/rules.ts'
import { silent, type TestStores } from '../../recorder/accounts.ts'

/** The first of January 2026, at midnight. */
export const YEAR_MS = Date.UTC(2026, 0, 1)

/** The actor of all writes. */
export const ACTOR = { by: 'cli', id: '', name: 'tester', address: '' } as const

export function at(text: string): Date {
  return new Date(`${text}T00:00:00Z`)
}

/** Outbox entries are dropped, unless a test registers other handlers later. */
export function storesOf({ catalog, ledger }: TestStores, nowMs = YEAR_MS): EntityStores {
  const clock = { nowMs: () => nowMs }
  const nothing = async () => {}
  const kinds = ['fence', 'transfer', 'renewal', 'card', 'balances']
  const handlers = Object.fromEntries(kinds.map((kind) => [kind, nothing]))
  catalog.dispatcher.register(handlers, silent)
  const config = loadConfig({ env: {} })
  const rules = uncheckedRules(createRules({ config, sealer: createSealer('test') }))
  return { catalog, ledger, clock, config, lookup: STORED_CUSTOMERS, rules, log: silent }
}

/** Documents need not be complete, nor what they refer to exist. */
function uncheckedRules(all: EntityStores['rules']): EntityStores['rules'] {
  const entries = Object.entries(all).map(([name, rules]) => {
    const { prepare: _prepare, check: _check, checkUnused: _checkUnused, ...rest } = rules
    return [name, rest] as const
  })
  return Object.fromEntries(entries)
}

export function definitionOf(name: string): CollectionDefinition {
  const definition = DEFINITIONS.get(name)
  if (definition === undefined) throw new Error(`there is no ${name}`)
  return definition
}

export interface Written {
  target?: Fields
  set?: Fields
  from?: Date
  to?: Date
}

/** Performs one write, as for a parsed request. */
export function act(
  stores: EntityStores,
  name: string,
  action: ActionName,
  { target = {}, set = {}, from, to }: Written = {},
): Promise<WriteResult> {
  const definition = definitionOf(name)
  const changes = { set, push: [], pull: [] }
  const period = { from: from ?? null, to: to ?? null }
  const request = { definition, actor: ACTOR, target, changes, raw: set, ...period, fields: [] }
  return action === 'create' ? create(stores, request) : change(stores, action, request)
}

export const RATE = {
  description: 'Data',
  pricing_method: 'tiered',
  tariff_category: 'retail',
  rates: { data: { BASE: { rate: [{ from: 0, to: 'UNLIMITED', interval: 1024, price: 0.01 }] } } },
}

/** Nothing is left to be done in other stores. */
export async function expectNoEntries(catalog: EntityStores['catalog']): Promise<void> {
  await expect.poll(() => catalog.outbox.find().toArray()).toEqual([])
}

/** Validity of all revisions of a rate, by begin. */
export async function periodsOf({ catalog }: EntityStores, key: string): Promise<[Date, Date][]> {
  const found = await catalog.rates
    .find({ key, deleted: { $ne: true } })
    .sort({ from: 1 })
    .toArray()
  return found.map(({ from, to }) => [from, to])
}

export function idOf({ entity }: WriteResult): ObjectId {
  const id = (entity as Fields | null)?.['_id']
  if (!(id instanceof ObjectId)) throw new Error('there is no entity')
  return id
}
