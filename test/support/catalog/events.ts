/** Stored events for tests. */
import type { Catalog } from '../../../src/catalog/connection.ts'
import type {
  EventDelivery,
  EventDocument,
} from '../../../src/catalog/records/events/event-document.ts'

type Given = Partial<Omit<EventDocument, 'delivery' | 'extra_params'>> & {
  aid?: number
  sid?: number
  delivery?: Partial<EventDelivery>
}

export const MADE = new Date('2026-06-15T12:00:00Z')

export function eventWith(stamp: string, given: Given = {}): EventDocument {
  const { aid = 1, sid = 7, delivery, ...more } = given
  return {
    stamp,
    event_type: 'balance',
    event_code: 'MINUTES_80',
    event_description: '',
    matched_path: 'spent',
    before: 70,
    after: 85,
    based_on: 'usage',
    reached_constant: 80,
    creation_time: MADE,
    extra_params: { aid, sid, row: { usagev: 15, urt: 0, usaget: 'call', stamp: 'line-1' } },
    conditions: [{ type: 'reached_constant', value: 80, paths: [{ path: 'spent' }] }],
    balance_ref: { sid, bucket_id: 1 },
    receiver: { url: 'https://crm.example.net/events' },
    ...more,
    delivery: { state: 'pending', due: MADE, attempts: 0, ...delivery },
  }
}

export async function storeEvents(
  { events }: Pick<Catalog, 'events'>,
  ...documents: readonly EventDocument[]
): Promise<void> {
  await events.insertMany(documents.map((document) => ({ ...document })))
}

/** State and attempts of the delivery, by stamp. */
export async function deliveries({
  events,
}: Pick<Catalog, 'events'>): Promise<Record<string, string>> {
  const found = await events.find().sort({ stamp: 1 }).toArray()
  return Object.fromEntries(
    found.map(({ stamp, delivery }) => [stamp, `${delivery.state} ${delivery.attempts}`]),
  )
}
