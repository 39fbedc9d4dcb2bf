/** Events are read-only; those that are selected are sent again. */
import type { Actor } from '../../catalog/actor.ts'
import type { Fields } from '../../domain/fields.ts'
import { DISPLAY, fieldRule } from '../../requests/errors.ts'
import type { RecordActions } from '../api.ts'
import { resendEvents } from '../events/resend.ts'
import type { EntityStores, WriteResult } from '../requests/entity-request.ts'

/** Events per call. */
const RESENT_MAX = 1000
/** Other conditions would also select events that have been delivered. */
const SELECTING = ['_id', 'stamp', 'delivery.state'] as const

export function eventActions(stores: EntityStores): RecordActions {
  return { write: (_, { actor, query }) => resend(stores, query, actor) }
}

async function resend(
  { catalog, clock }: EntityStores,
  query: Fields,
  actor: Actor,
): Promise<WriteResult> {
  if (!SELECTING.some((name) => query[name] !== undefined)) {
    const why = `give one of ${SELECTING.join(', ')}`
    throw fieldRule('query:', why, 'invalid', DISPLAY.request)
  }
  const by = { actor, nowMs: clock.nowMs() }
  const { resent, left, hasMore } = await resendEvents(catalog, query, by, RESENT_MAX)
  return { details: resent.length > 0, entity: null, more: { resent, left, more: hasMore } }
}
