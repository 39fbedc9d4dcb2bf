/** An event to deliver, for tests and the benchmark. */
import {
  type EventDocument,
  eventDocument,
} from '../../../src/catalog/records/events/event-document.ts'
import type { BalanceEvent } from '../../../src/domain/events/event.ts'

export const NOW_MS = Date.UTC(2026, 10, 21, 10)

/** An event of a balance as the recorder stores it. */
export function eventOf(stamp: string, more: Partial<BalanceEvent> = {}): EventDocument {
  return eventDocument({
    stamp,
    event_type: 'balance',
    event_code: 'HALF',
    event_description: 'half of the group is used',
    matched_path: 'balance.groups.G.usagev',
    before: 40,
    after: 60.5,
    based_on: 'usage',
    group_total: 100,
    reached_constant: 50,
    reached_constant_percentage: 50,
    creation_ms: NOW_MS + 750,
    aid: 17,
    sid: 18,
    row: { usagev: 20, urt: NOW_MS / 1000, usaget: 'data', stamp: 'line-1' },
    balance: { sid: 18 },
    conditions: [
      {
        type: 'reached_percentage',
        value: '50',
        unit: 'MB',
        usaget: 'data',
        paths: [{ path: 'balance.groups.F.usagev' }, { path: 'balance.groups.G.usagev' }],
      },
    ],
    receiver: {},
    ...more,
  })
}
