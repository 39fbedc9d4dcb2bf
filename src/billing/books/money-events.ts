/** Writes events of money, by the stored rules, within the transaction of the money. */
import type { ClientSession } from '../../catalog/collections.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { ruleEventDocument } from '../../catalog/records/events/rule-event.ts'
import type { Exact } from '../../catalog/records/money/exact-amount.ts'
import { moneyRulesIn } from '../../catalog/settings/events/event-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { stateOf } from '../../catalog/transactions/state.ts'
import type { MoneyEventType, MoneyRule } from '../../domain/events/money.ts'
import type { Fields } from '../../domain/fields.ts'

export interface MoneyEvent {
  readonly type: MoneyEventType
  /** The document, and its state if it can be in it several times. */
  readonly identity: readonly (string | number)[]
  readonly aid: number
  /** Balance of the account before and after; positive if the customer owes it. */
  readonly before?: Exact
  readonly after?: Exact
  readonly row: Fields
}

/** Rules, and the number of the last write of the stored configuration when they were read. */
interface ReadRules {
  readonly number: number
  readonly rules: readonly MoneyRule[]
}

const read = new WeakMap<Catalog, ReadRules>()
const KEY = 'money rules'

/**
 * Makes the rules known to the transaction. They are current: the head, which each transaction
 * reads, has the number of the last write of the stored configuration.
 */
export async function loadMoneyRules(catalog: Catalog, session: ClientSession): Promise<void> {
  const { head, memory } = stateOf(session)
  if (memory.has(KEY)) return
  const number = head.numbers.config
  let found = read.get(catalog)
  if (found?.number !== number) {
    const { value } = await readCategory(catalog, 'events')
    found = { number, rules: moneyRulesIn(value).rules }
    read.set(catalog, found)
  }
  memory.set(KEY, found.rules)
}

/** Whether there are rules of which `writeMoneyEvents` would write an event. */
export function hasMoneyRules(session: ClientSession): boolean {
  return rulesOf(session).length > 0
}

function rulesOf(session: ClientSession): readonly MoneyRule[] {
  return stateOf(session).memory.get(KEY) as readonly MoneyRule[]
}

/** After `loadMoneyRules`: adds the events that rules ask for to the writes of the transaction. */
export function writeMoneyEvents(
  session: ClientSession,
  events: readonly MoneyEvent[],
  nowMs: number,
): void {
  const rules = rulesOf(session)
  const documents = events.flatMap(({ before, after, ...event }) =>
    rules
      .filter(({ type, isFor }) => type === event.type && isFor(event.aid))
      .map((rule) => {
        const amounts = {
          ...(before !== undefined && { before: before.toNumber() }),
          ...(after !== undefined && { after: after.toNumber() }),
        }
        const made = { ...event, ...amounts, sid: 0, basedOn: 'monetary' } as const
        return ruleEventDocument(rule, made, nowMs)
      }),
  )
  stateOf(session).writes.addOnce('events', documents)
}
