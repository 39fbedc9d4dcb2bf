/** Processors with rules for events on one ledger, and the events in its streams. */
import type { Catalogue, PlanRevision } from '../../../src/domain/catalogue.ts'
import type { BalanceEvent } from '../../../src/domain/events/event.ts'
import type { BalanceRuleDocument } from '../../../src/domain/events/rule-documents.ts'
import { BalanceRuleSet } from '../../../src/domain/events/rule-set.ts'
import { compileBalanceRule } from '../../../src/domain/events/rules.ts'
import type { StreamEntry } from '../../../src/ledger/stream-entries.ts'
import { openStreamReader } from '../../../src/ledger/streams.ts'
import { READ_BYTES } from '../ledger.ts'
import { groupOf, serviceOf } from '../rating/offers.ts'
import { catalogueOf, flat, type ProcessorFixture, plan } from './processor-fixture.ts'

/** Postpaid, with a group of 100 units of data. */
const POSTPAID: PlanRevision = {
  ...plan,
  id: 'POST',
  name: 'POST',
  connectionType: 'postpaid',
  groups: [groupOf('G', 100, { usagets: new Set(['data']) })],
}

/** Plan POST for these subscribers, plan PLAN for others; service EXTRA. */
export const FIRST_POSTPAID = 5_000
const usual = catalogueOf({ DATA: { data: flat(1, 1_000) }, CALL: { call: flat(1, 500_000) } })
export const eventCatalogue: Catalogue = {
  ...usual,
  plans: new Map([...usual.plans, ['POST', [POSTPAID]]]),
  services: new Map([['EXTRA', [serviceOf('EXTRA')]]]),
}

export function ruleSetOf(...documents: BalanceRuleDocument[]): BalanceRuleSet {
  return new BalanceRuleSet(
    documents.map((document, index) => compileBalanceRule(document, `events.balance.${index}`)),
  )
}

/** A rule that is met by each change of a path. */
export function changesOf(path: string, event_code = 'CHANGED'): BalanceRuleDocument {
  return { event_code, conditions: [{ type: 'has_changed', paths: [{ path }] }] }
}

export function reaching(
  path: string,
  value: string | number,
  event_code = 'REACHED',
): BalanceRuleDocument {
  return { event_code, conditions: [{ type: 'reached_constant', value, paths: [{ path }] }] }
}

/** The entries in the streams that were not read before, acknowledged. */
export async function newEntries({ ledger }: ProcessorFixture): Promise<StreamEntry[]> {
  const reader = await openStreamReader(ledger, 'test')
  const { entries } = await reader.read(READ_BYTES, 10)
  await reader.acknowledge(entries)
  return entries
}

export async function newEvents(scene: ProcessorFixture): Promise<BalanceEvent[]> {
  return (await newEntries(scene)).flatMap(({ events = [] }) => events)
}

/** Code, movement and constant of an event. */
export function told({ event_code, before, after, reached_constant }: BalanceEvent): string {
  const reached = reached_constant === undefined ? '' : ` reached ${reached_constant}`
  return `${event_code} ${before} ${after}${reached}`
}
