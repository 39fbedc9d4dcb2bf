/** `tollgate event list`, `event resend`: events and their delivery. */
import type { WithId } from '../catalog/collections.ts'
import {
  DELIVERY_STATES,
  EVENT_TYPES,
  type NotificationDocument,
} from '../catalog/records/events/event-document.ts'
import { type Resent, resendEvents } from '../entities/events/resend.ts'
import { UsageError } from './errors.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalInstant, optionalNumber, optionalText } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

const LISTED = 100
const LISTED_MAX = 10_000
const RESENT_MAX = 10_000
const FILTERS = ['aid', 'sid', 'code', 'type', 'state', 'from', 'to']

type StoredEvent = WithId<NotificationDocument>

export async function listEvents(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const filter = filterOf(options, config.rating.timeZone)
  const limit = limitOf(options, LISTED, LISTED_MAX)
  const found = await withCatalog(config, (catalog) =>
    catalog.reads.events
      .find(filter)
      .sort({ creation_time: -1, _id: -1 })
      .limit(limit + 1)
      .toArray(),
  )
  const events = found.slice(0, limit)
  if (options['json'] === true) shell.print(JSON.stringify(events.map(eventJson)))
  else for (const line of eventsText(events)) shell.print(line)
  if (found.length > limit) {
    shell.printError(`tollgate: there are more than ${limit}: give filters, or a higher --limit`)
  }
  return 0
}

/** Returns 1 if events that are named are unknown, or are being sent. */
export async function resend(
  shell: Shell,
  stamps: readonly string[],
  options: OptionValues,
): Promise<0 | 1> {
  const config = shell.config()
  const filter = resendFilter(stamps, options, config.rating.timeZone)
  const limit = stamps.length > 0 ? stamps.length : limitOf(options, RESENT_MAX, RESENT_MAX)
  const done = await withCatalog(config, (catalog, clock) =>
    resendEvents(catalog, filter, { actor: operator(), nowMs: clock.nowMs() }, limit),
  )
  const known = new Set([...done.resent, ...done.left])
  const unknown = [...new Set(stamps)].filter((stamp) => !known.has(stamp))
  if (options['json'] === true) {
    shell.print(
      JSON.stringify({ resent: done.resent, left: done.left, unknown, more: done.hasMore }),
    )
  } else reportResent(shell, done, unknown)
  return unknown.length > 0 || done.left.length > 0 ? 1 : 0
}

function reportResent(
  shell: Shell,
  { resent, left, hasMore }: Resent,
  unknown: readonly string[],
): void {
  shell.print(
    resent.length === 1 ? '1 event is sent again' : `${resent.length} events are sent again`,
  )
  for (const stamp of left)
    shell.printError(`tollgate: event ${stamp} is being sent: nothing is changed`)
  for (const stamp of unknown) shell.printError(`tollgate: there is no event ${stamp}`)
  if (hasMore) shell.print('there are more: repeat the command, or give a higher --limit')
}

/** Only a state of delivery narrows down enough what would be sent again. */
function resendFilter(stamps: readonly string[], options: OptionValues, timeZone: string): object {
  const present = [...FILTERS, 'limit'].filter((name) => options[name] !== undefined)
  if (stamps.length > 0) {
    if (present.length > 0) throw new UsageError(`--${present[0]} cannot be combined with stamps`)
    return { stamp: { $in: [...stamps] } }
  }
  if (options['state'] === undefined) {
    throw new UsageError('give the stamps of events, or --state for those in this state')
  }
  return filterOf(options, timeZone)
}

function filterOf(options: OptionValues, timeZone: string): Record<string, unknown> {
  const text = (name: string) => optionalText(options, name)
  const dateOf = (name: string) => {
    const atMs = optionalInstant(options, name, timeZone)
    return atMs === undefined ? undefined : new Date(atMs)
  }
  const [from, to] = [dateOf('from'), dateOf('to')]
  const filter = {
    'extra_params.aid': optionalNumber(options, 'aid'),
    'extra_params.sid': optionalNumber(options, 'sid'),
    event_code: text('code'),
    event_type: choiceOf(options, 'type', EVENT_TYPES),
    'delivery.state': choiceOf(options, 'state', DELIVERY_STATES),
    creation_time:
      from === undefined && to === undefined
        ? undefined
        : { ...(from && { $gte: from }), ...(to && { $lt: to }) },
  }
  return Object.fromEntries(Object.entries(filter).filter(([, value]) => value !== undefined))
}

function choiceOf(
  options: OptionValues,
  name: string,
  allowed: readonly string[],
): string | undefined {
  const text = optionalText(options, name)
  if (text === undefined || allowed.includes(text)) return text
  throw new UsageError(`--${name} must be one of ${allowed.join(', ')}, not '${text}'`)
}

function limitOf(options: OptionValues, usual: number, max: number): number {
  const limit = optionalNumber(options, 'limit') ?? usual
  if (limit > max) throw new UsageError(`--limit must be at most ${max}, is ${limit}`)
  return limit
}

/** The stored document: times in ISO 8601. */
function eventJson({ _id, ...event }: StoredEvent): object {
  return event
}

function eventsText(events: readonly StoredEvent[]): string[] {
  if (events.length === 0) return ['no events']
  const head = [
    ...['time', 'code', 'type', 'aid', 'sid', 'before', 'after', 'reached'],
    ...['state', 'attempts', 'stamp', 'error'],
  ]
  return aligned([head, ...events.map(rowOf)])
}

function rowOf(event: StoredEvent): string[] {
  const { creation_time: time, event_code: code, event_type: type, stamp, delivery } = event
  const { aid, sid } = event.extra_params
  const text = (value: unknown) => (value === undefined || value === null ? '' : String(value))
  const { reached_constant: reached } = event as { reached_constant?: unknown }
  return [
    time.toISOString(),
    code,
    type,
    ...[aid, sid, event.before, event.after, reached].map(text),
    delivery.state,
    String(delivery.attempts),
    stamp,
    delivery.error ?? '',
  ]
}
