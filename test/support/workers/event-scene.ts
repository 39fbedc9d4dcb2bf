/** Processors with rules for events on one ledger, and the events in its streams. */
import type { BalanceEvent } from '../../../src/domain/events/event.ts'
import type { BalanceRuleDocument } from '../../../src/domain/events/rule-documents.ts'
import { BalanceRuleSet } from '../../../src/domain/events/rule-set.ts'
import { compileBalanceRule } from '../../../src/domain/events/rules.ts'
import type { StreamEntry } from '../../../src/ledger/stream-entries.ts'
import { openStreamReader } from '../../../src/ledger/streams.ts'
import { READ_BYTES } from '../ledger.ts'
import type { ProcessorFixture } from './processor-fixture.ts'

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
