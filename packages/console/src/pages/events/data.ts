/** Stored events and their delivery. */
import { answerOf } from '../../api/client.ts'
import { type Fields, type Identified, type Page, readNewest } from '../../api/records.ts'

export interface StoredEvent extends Identified, Fields {
  readonly stamp: string
  readonly event_code: string
  readonly event_type: string
  readonly creation_time: unknown
  readonly extra_params?: Fields
  readonly delivery?: Fields
}

export const STATES = ['pending', 'delivered', 'dead', 'unaddressed'] as const

type Query = Readonly<Record<string, string>>

/** Each filter has an index, and so have the pages without one. */
export function readEvents(query: Query, signal: AbortSignal): Promise<Page<StoredEvent>> {
  const { code, state, sid, aid, after = null } = query
  const filter = {
    ...(code && { event_code: code }),
    ...(state && { 'delivery.state': state }),
    ...(sid && { 'extra_params.sid': Number(sid) }),
    ...(aid && { 'extra_params.aid': Number(aid) }),
  }
  return readNewest<StoredEvent>('events', { query: filter, after }, signal)
}

export interface Resent {
  readonly resent: readonly string[]
  /** Events that are being sent. */
  readonly left: readonly string[]
}

/** Makes events pending again. Throws `Refusal`. */
export async function resend(stamps: readonly string[]): Promise<Resent> {
  const query = { stamp: { $in: stamps } }
  const { resent = [], left = [] } = await answerOf('billapi/events/resend', { query })
  return { resent, left }
}
