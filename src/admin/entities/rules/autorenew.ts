/**
 * Prepaid groups that are given again and again (R33, spec/entity-api.md 3.16). The charge of one
 * that is `immediate` is not made here, where nothing is stored yet: who creates it charges it, and
 * then stores `afterCharge`.
 */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import type { ServicePeriod } from '../../../domain/catalogue.ts'
import { type Fields, isUnset } from '../../../domain/fields.ts'
import { instantOf, localTime } from '../../../domain/time.ts'
import { endOf } from '../../../rating/periods.ts'
import { EntityRuleError } from '../errors.ts'
import { dateText } from '../timeline/dates.ts'
import { fromOf } from '../timeline/draft.ts'
import type { FieldChanges } from '../timeline/set-fields.ts'
import { exists, validAt } from './lookups.ts'
import type { CollectionRules, RuleContext } from './rule.ts'
import { instantAt, isChanged } from './values.ts'

type Zoned = Pick<RuleContext, 'nowMs' | 'zone'>

export const AUTORENEW_RULES: CollectionRules = {
  async prepare(changes, target, context) {
    if (target !== null) return withMovedAnchor(changes, target, context)
    const { interval: given, next_renew: next, immediate, cycles } = changes.set
    const { nowMs, zone } = context
    const interval = isUnset(given) ? 'month' : String(given)
    const givenMs = instantAt(next, 'next_renew', context)
    const baseMs = immediate === true ? tomorrow(context) : nowMs
    const nextMs = givenMs ?? nextRenewMs(interval, baseMs, zone)
    const anchor = anchorOf(interval, immediate === true ? nowMs : (givenMs ?? nowMs), zone)
    const added = { interval, next_renew: new Date(nextMs), cycles_remaining: cycles, ...anchor }
    return { ...changes, set: { ...changes.set, ...added } }
  },

  async check(document, stored, context) {
    if (isChanged(document, stored, 'bucket_group')) await checkGroup(document, context)
    const isMoved = isChanged(document, stored, 'sid') || isChanged(document, stored, 'aid')
    if (isMoved) await checkHolder(document, context)
    // The first charge of an immediate one does not wait for it; later ones do.
    const isImmediate = stored === null && document['immediate'] === true
    if (isImmediate || !isChanged(document, stored, 'next_renew')) return
    checkNext(document, context)
  },
}

const DAY: ServicePeriod = { months: 0, days: 1, hours: 0, untilMidnight: true }
const PERIODS: Readonly<Record<string, ServicePeriod>> = {
  day: DAY,
  week: { ...DAY, days: 7 },
  month: { ...DAY, months: 1, days: 0 },
}

/**
 * Midnight of the day that lies one interval after that of `baseMs`; of a month that is too short
 * for it, the last one. `anchorDay`: day of the month that a monthly renewal returns to after a
 * short month; that of `baseMs` if not given. Throws `EntityRuleError` for an interval that there is not.
 */
export function nextRenewMs(
  interval: string,
  baseMs: number,
  zone: string,
  anchorDay?: number,
): number {
  const period = Object.hasOwn(PERIODS, interval) ? PERIODS[interval] : undefined
  if (period === undefined) {
    throw new EntityRuleError(`interval must be one of ${Object.keys(PERIODS).join(', ')}`)
  }
  const nextMs = endOf(period, baseMs, zone)
  if (interval !== 'month' || anchorDay === undefined) return nextMs
  const { year, month } = localTime(zone, nextMs)
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const day = Math.min(anchorDay, lastDay)
  return instantOf(zone, { year, month, day, hour: 0, minute: 0, second: 0 })
}

/**
 * What changes of it when it has been charged, at once or by a later run. The dates are counted
 * from the one that was due, however late it is charged; those that have passed are left out.
 */
export function afterCharge(renewal: Fields, { nowMs, zone }: Zoned): Fields {
  const interval = String(renewal['interval'] ?? 'month')
  const dueMs = instantAt(renewal['next_renew'], 'next_renew', { nowMs, zone }) ?? nowMs
  // One that is charged before it is due begins now.
  const baseMs = Math.min(dueMs, nowMs)
  const day = Number(renewal['anchor_day'] ?? localTime(zone, baseMs).day)
  let nextMs = baseMs
  do nextMs = nextRenewMs(interval, nextMs, zone, day)
  while (nextMs <= nowMs)
  return {
    cycles_remaining: Number(renewal['cycles_remaining']) - 1,
    last_renew: new Date(nowMs),
    next_renew: new Date(nextMs),
    ...(interval === 'month' && day > SHORTEST_MONTH && { anchor_day: day }),
  }
}

/** Days that every month has: no date on one of them is ever moved. */
const SHORTEST_MONTH = 28

/** The day to return to after a short month, where there may be one. */
function anchorOf(interval: string, atMs: number, zone: string): { anchor_day?: number } {
  const { day } = localTime(zone, atMs)
  return interval === 'month' && day > SHORTEST_MONTH ? { anchor_day: day } : {}
}

/** Another date is another anchor; clients also send back the date that they have read. */
function withMovedAnchor(changes: FieldChanges, target: RawDocument, context: Zoned): FieldChanges {
  const { zone } = context
  const { set } = changes
  const nextMs = instantAt(set['next_renew'], 'next_renew', context)
  if (nextMs === null || !isChanged({ ...target, ...set }, target, 'next_renew')) return changes
  const interval = String(set['interval'] ?? target['interval'] ?? 'month')
  return { ...changes, set: { ...set, anchor_day: undefined, ...anchorOf(interval, nextMs, zone) } }
}

function tomorrow({ nowMs, zone }: Zoned): number {
  return endOf(DAY, nowMs, zone)
}

async function checkGroup(document: RawDocument, context: RuleContext): Promise<void> {
  const { bucket_group: name } = document
  const { nowMs, zone } = context
  if (await exists(context, 'prepaidgroups', { name, ...validAt(nowMs) })) return
  const date = dateText(nowMs, zone)
  throw new EntityRuleError(`bucket_group: there is no prepaid group ${name} at ${date}`)
}

/** Who is given something at once must be there now. */
async function checkHolder(document: RawDocument, context: RuleContext): Promise<void> {
  const { sid, aid, immediate } = document
  const when = immediate === true ? validAt(context.nowMs) : {}
  if (await exists(context, 'subscribers', { type: 'subscriber', sid, aid, ...when })) return
  throw new EntityRuleError(
    `sid: there is no subscriber ${sid} of account ${aid}${immediate === true ? ' now' : ''}`,
  )
}

function checkNext(document: RawDocument, context: RuleContext): void {
  const { next_renew: next } = document
  const leastMs = tomorrow(context)
  const nextMs = instantAt(next, 'next_renew', context) ?? fromOf(document)
  if (nextMs >= leastMs) return
  const date = dateText(leastMs, context.zone)
  throw new EntityRuleError(`next_renew must not be before ${date}, unless immediate is true`)
}
