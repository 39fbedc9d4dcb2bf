/** Alarms: figures that need an operator, as docs/OPERATING.md names them. */
import { choice, integer, text, type ValueOf } from '../../catalog/entities/json-schema.ts'
import type { NodeHealth } from '../health.ts'
import { component } from '../http/answer-schema.ts'

export const ALARM_TEXTS = {
  redis: 'Redis does not serve the node: nothing is charged.',
  redis_cannot_write: 'Masters of Redis cannot write to their disk: nothing is charged there.',
  mongo: 'MongoDB is unavailable: entities cannot be changed, lines wait to be recorded.',
  mongo_cannot_write: 'MongoDB cannot write: lines wait to be recorded, changes are refused.',
  ledger: 'The ledger has lost data: it has to be rebuilt.',
  charging: 'No charging process reports.',
  recorder: 'No recorder reports: usage is not recorded.',
  backlog_age: 'The oldest entry waits longer to be recorded than recorder.lagWarnMs.',
  backlog_memory: 'The backlog takes more memory of Redis than ledger.backlogWarnPercent.',
  entries_unreadable: 'Entries of the ledger cannot be recorded.',
  catalogue_skipped: 'Stored entities cannot be used and are left out.',
  profiles_damaged: 'Requests fail because a stored subscriber or account cannot be used.',
  customer_system: 'Workers do not call the customer system because its calls fail.',
  overload: 'Requests are refused because there are too many.',
  refused_access: 'Network elements with unknown credentials or addresses are refused.',
  events_dead: 'Events could not be delivered and are not tried again.',
  event_receiver: 'A receiver of events is not called because its calls fail.',
  cycle_paused: 'The newest run of the billing cycle is paused.',
  certificate: 'A certificate expires within two weeks.',
  certificate_reload: 'Changed TLS files cannot be used.',
} as const

export type AlarmName = keyof typeof ALARM_TEXTS

export const ALARM = component('liveAlarm', 'An alarm.', {
  name: choice(Object.keys(ALARM_TEXTS) as AlarmName[], 'What it is about.'),
  since: integer('When it was raised, in milliseconds since 1970.'),
  text: text('What is wrong, in a sentence.'),
})
export type Alarm = ValueOf<typeof ALARM>

/** The figures behind the alarms, without the checks of the stores. Null if not known. */
export interface AlarmFigures {
  readonly processes: { readonly realtime: number; readonly recorder: number } | null
  readonly redisCannotWrite: number
  readonly backlogAgeSeconds: number | null
  /** 0..1. */
  readonly backlogMemory: number | null
  readonly catalogueSkipped: number
  readonly customerCircuit: number
  readonly eventCircuit: number
  readonly cyclePaused: number
  /** Seconds until the first certificate expires; null without one. */
  readonly certificateSeconds: number | null
  /** Per second. */
  readonly growth: Readonly<Record<GrowthAlarm, number>>
}

/** Raised while a counter grows, and for a minute after. */
const GROWTH = [
  'entries_unreadable',
  'profiles_damaged',
  'overload',
  'refused_access',
  'events_dead',
  'certificate_reload',
] as const satisfies readonly AlarmName[]
type GrowthAlarm = (typeof GROWTH)[number]

const GROWTH_MS = 60_000
const CERTIFICATE_SECONDS = 14 * 24 * 3600

export interface AlarmLimits {
  readonly lagWarnMs: number
  readonly backlogWarnPercent: number
}

export class Alarms {
  readonly #limits: AlarmLimits
  readonly #since = new Map<AlarmName, number>()
  readonly #grownMs = new Map<AlarmName, number>()

  constructor(limits: AlarmLimits) {
    this.#limits = limits
  }

  /** The raised alarms, the oldest first. */
  update(health: NodeHealth, figures: AlarmFigures, nowMs: number): readonly Alarm[] {
    const raised = new Set<AlarmName>(raisedBy(health, figures, this.#limits))
    for (const name of GROWTH) {
      if (figures.growth[name] > 0) this.#grownMs.set(name, nowMs)
      if (nowMs - (this.#grownMs.get(name) ?? -Infinity) < GROWTH_MS) raised.add(name)
    }
    for (const name of this.#since.keys()) if (!raised.has(name)) this.#since.delete(name)
    for (const name of raised) if (!this.#since.has(name)) this.#since.set(name, nowMs)
    return [...this.#since].map(([name, since]) => ({ name, since, text: ALARM_TEXTS[name] }))
  }
}

function raisedBy(
  health: NodeHealth,
  figures: AlarmFigures,
  { lagWarnMs, backlogWarnPercent }: AlarmLimits,
): AlarmName[] {
  const { processes, backlogAgeSeconds, backlogMemory, certificateSeconds } = figures
  const isRaised: Partial<Record<AlarmName, boolean>> = {
    redis: health.redis !== 'ok',
    redis_cannot_write: figures.redisCannotWrite > 0,
    mongo: health.mongo !== 'ok',
    mongo_cannot_write: health.mongo === 'cannot_write',
    ledger: health.ledger === 'lost',
    charging: processes?.realtime === 0,
    recorder: processes?.recorder === 0,
    backlog_age: backlogAgeSeconds !== null && backlogAgeSeconds * 1_000 >= lagWarnMs,
    backlog_memory: backlogMemory !== null && backlogMemory * 100 >= backlogWarnPercent,
    catalogue_skipped: figures.catalogueSkipped > 0,
    customer_system: figures.customerCircuit > 0,
    event_receiver: figures.eventCircuit > 0,
    cycle_paused: figures.cyclePaused > 0,
    certificate: certificateSeconds !== null && certificateSeconds < CERTIFICATE_SECONDS,
  }
  return (Object.keys(isRaised) as AlarmName[]).filter((name) => isRaised[name])
}
