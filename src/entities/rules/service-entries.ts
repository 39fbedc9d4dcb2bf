/**
 * Services of subscribers and accounts: each entry gets a start, an end and a number. An end
 * earlier than that of the service is kept; a later one is shortened.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import { serviceTermsAt } from '../../catalog/compile/period.ts'
import { zoneAt } from '../../catalog/compile/profile.ts'
import type { ServiceTerms } from '../../domain/catalogue.ts'
import { type Fields, isUnset, objectAt, textAt, wholeAt } from '../../domain/fields.ts'
import { FOREVER_MS } from '../../domain/time.ts'
import { endOfService, type HolderCalendar } from '../../rating/periods.ts'
import { DISPLAY, fieldRule } from '../../requests/errors.ts'
import { dateText } from '../timeline/dates.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { checkAll } from '../trial.ts'
import { offerAt } from './lookups.ts'
import type { RuleContext } from './rule.ts'
import { asRule, fieldsOf, instantAt, listOf } from './values.ts'

export type HolderKind = 'subscriber' | 'account'

interface Work {
  context: RuleContext
  /** Determines the end of services. */
  calendar: HolderCalendar
  /** Services begin with a new entity at the earliest. */
  isNew: boolean
  /** Entries of the stored revision. */
  stored: readonly Fields[]
}

/** Throws `EntityRuleError` if a service does not exist, or if a field of an entry is invalid. */
export async function prepareServices(
  changes: FieldChanges,
  target: RawDocument | null,
  context: RuleContext,
  kind: HolderKind,
): Promise<FieldChanges> {
  const stored = listOf(target?.['services']).map(fieldsOf)
  const isSent = changes.set['time_zone'] !== undefined
  const ownZone = isSent ? changes.set['time_zone'] : target?.['time_zone']
  const calendar = calendarOf(context, kind, ownZone)
  const isNew = target === null && context.isMigrated !== true
  const work = { context, calendar, isNew, stored }
  const { services } = changes.set
  const set =
    services === undefined
      ? changes.set
      : { ...changes.set, services: await entriesOf(services, 'services', work) }
  const push: FieldChanges['push'][number][] = []
  for (const change of changes.push) {
    const values = change.field === 'services' ? change.values : null
    if (values === null) push.push(change)
    else push.push({ ...change, values: await entriesOf(values, 'push services', work) })
  }
  return { ...changes, set, push }
}

/** Must be consistent with charging: rating/active-products.ts. */
function calendarOf(
  { zone, cycleDay }: RuleContext,
  kind: HolderKind,
  ownZone: unknown,
): HolderCalendar {
  if (kind === 'account') return { zone, cycleDay }
  if (isUnset(ownZone)) return { zone, cycleDay: null }
  return { zone: asRule(() => zoneAt(String(ownZone), 'time_zone')), cycleDay: null }
}

async function entriesOf(value: unknown, path: string, work: Work): Promise<Fields[]> {
  if (isUnset(value)) return []
  if (!Array.isArray(value)) throw fieldRule(path, `must be a list`)
  const entries: Fields[] = []
  // Sequential, because the numbers follow the order of the entries.
  const reads = value.map((one, index) => async () => {
    entries.push(await entryOf(one, `${path}.${index}`, work))
  })
  await checkAll(reads)
  return entries
}

async function entryOf(value: unknown, path: string, work: Work): Promise<Fields> {
  const { context, stored } = work
  const entry = typeof value === 'string' ? { name: value } : asRule(() => objectAt(value, path))
  const { name: entryName, service_id: serviceId, quantity: count, ...rest } = entry as Fields
  const name = asRule(() => textAt(entryName, `${path}.name`))
  const id = isUnset(serviceId) ? null : asRule(() => wholeAt(serviceId, `${path}.service_id`, 1))
  const existing = stored.find((one) => Number(one['service_id']) === id && one['name'] === name)
  const quantity = count === undefined ? existing?.['quantity'] : count
  const dates = datesOf(rest, existing, path, work)
  const toMs = await endFor({ ...dates, name, path }, work)
  return {
    ...rest,
    name,
    from: new Date(dates.fromMs),
    to: new Date(toMs),
    service_id: id ?? nextServiceId(context.nowMs),
    creation_time: new Date(dates.createdMs ?? context.nowMs),
    ...(isUnset(quantity)
      ? {}
      : { quantity: asRule(() => wholeAt(quantity, `${path}.quantity`, 1)) }),
  }
}

/** The dates in the request, otherwise the stored ones. */
function datesOf(entry: Fields, existing: Fields | undefined, path: string, work: Work) {
  const { context } = work
  const at = (field: string) => {
    const instant = instantAt(entry[field], `${path}.${field}`, context)
    const before =
      existing === undefined ? null : instantAt(existing[field], `${path}.${field}`, context)
    return { before, atMs: isSameSecond(instant, before) ? before : (instant ?? before) }
  }
  const [from, to] = [at('from'), at('to')]
  const fromMs = from.atMs ?? context.fromMs
  return {
    fromMs: work.isNew ? Math.max(fromMs, context.fromMs) : fromMs,
    requestedToMs: to.atMs,
    createdMs: at('creation_time').atMs,
    before: { fromMs: from.before, toMs: to.before },
  }
}

/** Responses have whole seconds, so dates that clients send back have lost their milliseconds. */
function isSameSecond(instant: number | null, before: number | null): boolean {
  if (instant === null || before === null) return false
  return Math.floor(instant / 1000) === Math.floor(before / 1000)
}

interface DatedEntry {
  name: string
  path: string
  fromMs: number
  /** Null if not given. */
  requestedToMs: number | null
  /** The stored dates. */
  before: { fromMs: number | null; toMs: number | null }
}

/**
 * Computes the end, and checks that the service exists. A stored entry stays valid even if its
 * service has ended.
 */
async function endFor(entry: DatedEntry, { context, calendar }: Work): Promise<number> {
  const { name, path, fromMs, requestedToMs, before } = entry
  const isSameFrom = before.fromMs === fromMs
  if (isSameFrom && requestedToMs !== null && requestedToMs === before.toMs) return requestedToMs
  const service = await offerAt(context, 'services', name, fromMs)
  if (service === undefined && !isSameFrom) {
    const date = dateText(fromMs, context.zone)
    throw fieldRule(
      `${path}:`,
      `there is no service ${name} at ${date}`,
      'invalid',
      DISPLAY.service,
    )
  }
  const span = { fromMs, toMs: requestedToMs ?? FOREVER_MS }
  const toMs =
    service === undefined ? span.toMs : endOfService(termsOf(service, name), span, calendar)
  if (toMs > fromMs) return toMs
  const date = dateText(fromMs, context.zone)
  throw fieldRule(`${path}.to`, `must be after ${date}, where service ${name} begins`)
}

function termsOf(service: Fields, name: string): ServiceTerms {
  return asRule(() => serviceTermsAt(service, `${name}: `))
}

let lastServiceId = 0

/** Microseconds of the clock, 16 digits; unique within this process. */
function nextServiceId(nowMs: number): number {
  lastServiceId = Math.max(lastServiceId + 1, Math.trunc(nowMs) * 1000)
  return lastServiceId
}
