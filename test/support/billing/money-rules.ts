/** Stored rules for events of money, and what they have made. */
import type { Catalog } from '../../../src/catalog/connection.ts'
import type { NotificationDocument } from '../../../src/catalog/records/events/event-document.ts'
import { changeStoredConfig } from '../../../src/catalog/settings/stored-config.ts'
import { MONEY_EVENT_TYPES } from '../../../src/domain/events/money.ts'

/** A rule for each type. */
export const ALL_TYPES = MONEY_EVENT_TYPES.map((event_type) => ({ event_type }))

export async function storeEventRules(catalog: Catalog, rules: object): Promise<void> {
  await changeStoredConfig(catalog, 'events', () => rules, { by: 'test', nowMs: 0 })
}

/** The events of an account, in the order of their creation. */
export function eventsOf(catalog: Catalog, aid: number): Promise<NotificationDocument[]> {
  return catalog.events.find({ 'extra_params.aid': aid }).sort({ _id: 1 }).toArray()
}

/** The types of its events, in that order. */
export async function typesOf(catalog: Catalog, aid: number): Promise<string[]> {
  return (await eventsOf(catalog, aid)).map(({ event_type }) => event_type)
}
