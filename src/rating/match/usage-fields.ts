/** The fields of a usage for rate matching, and how rules name them. */
import { requestField } from '../rule-names.ts'

export interface UsageFields {
  usaget: string
  /** -1 if the request has none. */
  ratingGroup: number
  /** As in `ServiceRequest`. */
  serviceIdentifier: string
  /** Empty if absent. */
  calledNumber: string
  plan: string
  /** The subscriber's play; empty if plays are not in use. */
  play: string
  /** IANA zone of the subscriber, for date parts. */
  timeZone: string
  /** A field of the request by its name there; undefined if it is absent. */
  field(name: string): string | undefined
  /** A field of the subscriber that the node does not know (`SubscriberProfile.facts`). */
  subscriberField(name: string): string | undefined
}

/** Reads a field of a usage; undefined if it is absent. */
export type UsageFieldReader = (usage: UsageFields) => string | undefined

const OWN: Readonly<Record<string, UsageFieldReader>> = {
  usaget: ({ usaget }) => usaget,
  plan: ({ plan }) => plan,
  play: ({ play }) => play || undefined,
  called_number: ({ calledNumber }) => calledNumber || undefined,
  rating_group: ({ ratingGroup }) => (ratingGroup < 0 ? undefined : String(ratingGroup)),
  service_identifier: ({ serviceIdentifier }) => serviceIdentifier || undefined,
}

/** Name of the event time in rules. */
export const EVENT_TIME = 'urt'

/** Prefix of fields of the subscriber. */
const SUBSCRIBER = 'subscriber.'

/**
 * The reader of a `line_key`. With `uf.` or `cf.`, the field of the request takes precedence over
 * the field of the usage with the same name; with `subscriber.` over the field of the subscriber.
 */
export function readerOf(name: string): UsageFieldReader {
  const bare = requestField(name)
  if (bare.startsWith(SUBSCRIBER)) {
    const field = bare.slice(SUBSCRIBER.length)
    return (usage) => usage.field(bare) ?? usage.subscriberField(field)
  }
  const own = Object.hasOwn(OWN, bare) ? OWN[bare] : undefined
  if (own === undefined) return (usage) => usage.field(bare)
  return bare === name ? own : (usage) => usage.field(bare) ?? own(usage)
}

/** The names of the request fields that these rule fields read. */
export function requestFields(names: Iterable<string>): readonly string[] {
  const needed = new Set<string>()
  for (const name of names) {
    const bare = requestField(name)
    const isOwn = Object.hasOwn(OWN, name) || name === EVENT_TIME
    if (!isOwn && bare !== '') needed.add(bare)
  }
  return [...needed].sort()
}
