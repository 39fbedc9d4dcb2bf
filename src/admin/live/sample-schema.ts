/** The schema of a live sample: what the installation does in a second. */
import {
  closed,
  integer,
  listOf,
  number,
  orNull,
  ref,
  type Schema,
  text,
  typed,
  type ValueOf,
} from '../../catalog/entities/json-schema.ts'
import type { NodeHealth } from '../health.ts'
import { component, nullable } from '../http/answer-schema.ts'
import { ALARM } from './alarms.ts'
import { PEER_REQUESTS } from './peers.ts'

/** Null if it is not known. */
export const figure = (description: string) => nullable(number(description))
export type Figure = ValueOf<ReturnType<typeof figure>>

const figures = <const K extends string>(
  description: string,
  members: Readonly<Record<K, string>>,
) => {
  const all = Object.entries<string>(members).map(([name, about]): [string, Schema] => [
    name,
    figure(about),
  ])
  return typed<Readonly<Record<K, Figure>>>(closed(description, Object.fromEntries(all)))
}

const FILE_TYPE_FIGURES = component(
  'liveFileType',
  'Answered requests of a file type, per second.',
  {
    name: text('Name of the file type.'),
    granted: number('Granted.'),
    denied: number('Denied.'),
    failed: number('Failed.'),
  },
)
export type FileTypeFigures = ValueOf<typeof FILE_TYPE_FIGURES>

const PEER_CONNECTIONS = component('livePeer', 'Diameter connections of a peer.', {
  peer: text('Name of the peer; empty if it is not configured.'),
  state: text('State of the connections, such as `open` or `suspect`.'),
  connections: integer('Their number.'),
})
export type PeerConnections = ValueOf<typeof PEER_CONNECTIONS>

const DIAMETER = closed('Diameter.', {
  sessions: figure('Sessions that can be sent requests.'),
  connections: figure('Connections in any state.'),
  messages_in: figure('Messages received per second.'),
  messages_out: figure('Messages sent per second.'),
  pending: figure('Sessions that wait for RAR or ASR.'),
  peers: listOf(PEER_CONNECTIONS, 'Connections by peer and state.'),
})

export const LIVE_SAMPLE = component(
  'liveSample',
  'Figures of a second. Null: not known. Rates are per second.',
  {
    time: integer('Begin of the second, in milliseconds since 1970.'),
    health: ref<NodeHealth>('readiness', 'As `GET /health/ready` answers.'),
    processes: orNull(
      closed('Processes by role.', {
        realtime: integer('Charging processes.'),
        recorder: integer('Recorders.'),
      }),
      'Processes that report, by role; null while Redis is away.',
    ),
    requests: figures('Charge requests per second, by outcome.', {
      granted: 'Granted.',
      denied: 'Denied.',
      failed: 'Failed.',
      refused: 'Refused before they were decoded.',
    }),
    file_types: listOf(FILE_TYPE_FIGURES, 'Answered requests by file type.'),
    peers: listOf(
      PEER_REQUESTS,
      'Requests by network element: at most 20, those with most refusals first.',
    ),
    latency: figures('Duration of requests, as upper bounds of the buckets of a histogram.', {
      p50_ms: 'Half of them took no longer, ms; null without requests.',
      p99_ms: '99 % of them took no longer, ms; null without requests.',
      beyond: 'Requests per second that took longer than the last bucket (5,000 ms).',
    }),
    sessions: figures('Sessions.', { open: 'Open sessions.' }),
    reservations: figure('Grants reserved per second.'),
    load: figures('Admission of requests.', {
      in_flight: 'Requests that are admitted and not answered.',
      limit: 'Requests that may be under way.',
      waiting: 'Reports that wait for admission.',
      refused: 'Refused per second because there were too many.',
      dropped: 'Admitted, but dropped per second.',
    }),
    workers: figures('Worker threads.', {
      commits: 'Commits to Redis per second.',
      conflicts: 'Commits per second that had to be settled again.',
      waits: 'Waits per second for a busy account.',
      loads: 'Owners read per second because they were not cached.',
      batch: 'Requests of a batch, on average.',
    }),
    loops: figures('Event loops of charging.', {
      busy: 'Share of the time in which they work, 0..1.',
    }),
    recorder: figures('The recorder.', {
      backlog: 'Entries of the ledger that are not recorded yet.',
      age_s: 'Age of the oldest of them, seconds.',
      drain_s: 'Time to record them at the present rate, seconds.',
      recorded: 'Entries recorded per second.',
      memory: 'Share of the memory of Redis that they take, of what nothing else uses, 0..1.',
    }),
    diameter: DIAMETER,
    events: figures('Notifications of events.', {
      pending: 'Events to be sent, counted up to 10,000.',
      oldest_s: 'Age of the oldest of them, seconds.',
    }),
    alarms: listOf(ALARM, 'What needs an operator, the oldest first.'),
  },
)
export type LiveSample = ValueOf<typeof LIVE_SAMPLE>
