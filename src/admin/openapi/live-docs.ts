/** Live figures in the description of the API: responses and their schemas. */
import {
  choice,
  closed,
  either,
  integer,
  listOf,
  mapOf,
  ref,
  type Schema,
  text,
} from '../../catalog/entities/json-schema.ts'
import { ALARM_TEXTS } from '../live/alarms.ts'
import { HISTORY_SECONDS } from '../live/history.ts'
import { NOTHING } from './components.ts'
import type { NodeAnswer } from './node-answers.ts'

const DONE: Schema = { type: 'integer', const: 1, description: '1: success.' }
const SUCCESS = text('Always `success`.')

/** Null if it is not known. */
const figure = (description: string): Schema => ({ type: ['number', 'null'], description })
const figures = (description: string, named: Readonly<Record<string, string>>): Schema =>
  closed(
    description,
    Object.fromEntries(Object.entries(named).map(([name, about]) => [name, figure(about)])),
  )
const perSecond = (description: string): Schema => ({ type: 'number', description })

const answer = (description: string, details: Schema): Schema =>
  closed(description, { status: DONE, desc: SUCCESS, details })

const DIAMETER = closed('Diameter.', {
  sessions: figure('Sessions that can be sent requests.'),
  connections: figure('Connections in any state.'),
  messages_in: figure('Messages received per second.'),
  messages_out: figure('Messages sent per second.'),
  pending: figure('Sessions that wait for RAR or ASR.'),
  peers: listOf(ref('livePeer'), 'Connections by peer and state.'),
})

export const LIVE_SCHEMAS: Readonly<Record<string, Schema>> = {
  liveSample: closed('Figures of a second. Null: not known. Rates are per second.', {
    time: integer('Begin of the second, in milliseconds since 1970.'),
    health: ref('readiness', 'As `GET /health/ready` answers.'),
    processes: either(
      'Processes that report, by role; null while Redis is away.',
      closed('Processes by role.', {
        realtime: integer('Charging processes.'),
        recorder: integer('Recorders.'),
      }),
      NOTHING,
    ),
    requests: figures('Charge requests per second, by outcome.', {
      granted: 'Granted.',
      denied: 'Denied.',
      failed: 'Failed.',
      refused: 'Refused before they were decoded.',
    }),
    file_types: listOf(ref('liveFileType'), 'Answered requests by file type.'),
    peers: listOf(
      ref('livePeerRequests'),
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
    alarms: listOf(ref('liveAlarm'), 'What needs an operator, the oldest first.'),
  }),
  liveFileType: closed('Answered requests of a file type, per second.', {
    name: text('Name of the file type.'),
    granted: perSecond('Granted.'),
    denied: perSecond('Denied.'),
    failed: perSecond('Failed.'),
  }),
  livePeerRequests: closed('Requests of a network element, per second.', {
    peer: text('Its name; empty for callers that are not listed.'),
    granted: perSecond('Granted.'),
    denied: perSecond('Denied.'),
    failed: perSecond('Failed.'),
    refused: perSecond('Refused before they were decoded.'),
    reasons: listOf(ref('livePeerReason'), 'Why not granted: at most 8, the most frequent first.'),
  }),
  livePeerReason: closed('Requests that were not granted, per second.', {
    outcome: choice(['denied', 'failed', 'refused'], 'The outcome.'),
    reason: text('The return code, or why the request was refused before it was decoded.'),
    rate: perSecond('Their number.'),
  }),
  livePeer: closed('Diameter connections of a peer.', {
    peer: text('Name of the peer; empty if it is not configured.'),
    state: text('State of the connections, such as `open` or `suspect`.'),
    connections: integer('Their number.'),
  }),
  liveAlarm: closed('An alarm.', {
    name: choice(Object.keys(ALARM_TEXTS), 'What it is about.'),
    since: integer('When it was raised, in milliseconds since 1970.'),
    text: text('What is wrong, in a sentence.'),
  }),
  liveAnswer: answer('The newest sample.', ref('liveSample')),
  liveHistory: answer(
    `The numbers of the last ${HISTORY_SECONDS} seconds.`,
    closed('Series with one value per second.', {
      from: {
        type: ['integer', 'null'],
        description: 'Time of the first values; null without any.',
      },
      to: { type: ['integer', 'null'], description: 'Time of the last values.' },
      step_ms: integer('Milliseconds between two values.'),
      series: mapOf(
        listOf(
          figure('A value, with at least four significant digits; null where there was none.'),
          'Values from `from` to `to`.',
        ),
        'By path in the sample, such as `requests.granted`; for a file type ' +
          '`file_types.NAME.granted`, for checks `health.ready`, `health.redis` and ' +
          '`health.mongo` (1 or 0), `alarms` for their number.',
      ),
    }),
  ),
}

const SAMPLE = {
  time: 1_795_705_200_000,
  health: {
    status: 'ready',
    redis: 'ok',
    mongo: 'ok',
    ledger: 'ok',
    changes: 'ok',
    catalogue: 'ok',
  },
  processes: { realtime: 1, recorder: 1 },
  requests: { granted: 812, denied: 12, failed: 0, refused: 0 },
  file_types: [{ name: 'json', granted: 812, denied: 12, failed: 0 }],
  peers: [
    {
      peer: 'ggsn',
      granted: 812,
      denied: 12,
      failed: 0,
      refused: 0,
      reasons: [{ outcome: 'denied', reason: '-13', rate: 12 }],
    },
  ],
  latency: { p50_ms: 2, p99_ms: 10, beyond: 0 },
  sessions: { open: 4071 },
  reservations: 790,
  load: { in_flight: 3, limit: 640, waiting: 0, refused: 0, dropped: 0 },
  workers: { commits: 98, conflicts: 0, waits: 0, loads: 2, batch: 8.4 },
  loops: { busy: 0.31 },
  recorder: { backlog: 41, age_s: 0.2, drain_s: 0, recorded: 96, memory: 0 },
  diameter: {
    sessions: 0,
    connections: 0,
    messages_in: 0,
    messages_out: 0,
    pending: 0,
    peers: [],
  },
  events: { pending: 0, oldest_s: 0 },
  alarms: [],
} as const

const ADMITTED = {
  '400': 'unreadable',
  '401': 'badToken',
  '403': 'forbidden',
  '503': 'unavailable',
}
const REFUSED = ['ruleError', 'permissionError', 'loginError'] as const

export const LIVE_ANSWERS: Readonly<Record<string, NodeAnswer>> = {
  'GET /api/live': {
    description:
      'The newest sample; with `Accept: text/event-stream` a stream with an event `sample` each ' +
      'second, and an event `end` with the reason if the node ends it.',
    schema: ref('liveAnswer'),
    example: { status: 1, desc: 'success', details: SAMPLE },
    stream: {
      schema: text('Events: `id` is the time of the sample, `data` the sample as JSON.'),
      example: `id: ${SAMPLE.time}\nevent: sample\ndata: ${JSON.stringify(SAMPLE)}\n\n`,
    },
    refused: REFUSED,
    others: { ...ADMITTED, '429': 'tooManyStreams' },
  },
  'GET /api/live/history': {
    description: 'The numbers of the last samples.',
    schema: ref('liveHistory'),
    example: {
      status: 1,
      desc: 'success',
      details: {
        from: SAMPLE.time,
        to: SAMPLE.time + 2000,
        step_ms: 1000,
        series: { 'requests.granted': [812, null, 809] },
      },
    },
    refused: REFUSED,
    others: ADMITTED,
  },
}
