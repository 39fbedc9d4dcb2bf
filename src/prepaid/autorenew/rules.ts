/**
 * Rules for auto-renewals: recurring top-ups with prepaid groups. The charge of an `immediate` one
 * is not made here, because nothing is stored yet: its creator charges it and stores `afterCharge`.
 * The other ones: due.ts.
 */
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { ChangeDecision } from '../../catalog/revisions/entity-changes.ts'
import { validAt } from '../../catalog/revisions/validity.ts'
import type { ServicePeriod } from '../../domain/catalogue.ts'
import { type Fields, isUnset } from '../../domain/fields.ts'
import { instantOf, localTime } from '../../domain/time.ts'
import { exists } from '../../entities/rules/lookups.ts'
import type { CollectionRules, RuleContext } from '../../entities/rules/rule.ts'
import { instantAt, isChanged } from '../../entities/rules/values.ts'
import { dateText } from '../../entities/timeline/dates.ts'
import { fromOf } from '../../entities/timeline/draft.ts'
import type { FieldChanges } from '../../entities/timeline/set-fields.ts'
import { checkAll } from '../../entities/trial.ts'
import { endOf } from '../../rating/periods.ts'
import { fieldRule } from '../../requests/errors.ts'
import { renewalEntry } from './renewal.ts'

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
    const isNew = (...names: string[]) => isChanged(document, stored, ...names)
    // The first charge of an immediate renewal is not made at `next_renew`; later ones are.
    const isImmediate = stored === null && document['immediate'] === true
    await checkAll([
      () => isNew('bucket_group') && checkGroup(document, context),
      () => isNew('sid', 'aid') && checkHolder(document, context),
      () => !isImmediate && isNew('next_renew') && checkNext(document, context),
    ])
  },

  withRelated: withFirstCharge,
}

const DAY: ServicePeriod = { months: 0, days: 1, hours: 0, untilMidnight: true }
const PERIODS: Readonly<Record<string, ServicePeriod>> = {
  day: DAY,
  week: { ...DAY, days: 7 },
  month: { ...DAY, months: 1, days: 0 },
}

/**
 * Midnight one interval after the day of `baseMs`, or of the last day of a shorter month.
 * `anchorDay`: day of the month to which a monthly renewal returns after a shorter month; defaults
 * to the day of `baseMs`. Throws `EntityRuleError` for an unknown interval.
 */
export function nextRenewMs(
  interval: string,
  baseMs: number,
  zone: string,
  anchorDay?: number,
): number {
  const period = Object.hasOwn(PERIODS, interval) ? PERIODS[interval] : undefined
  if (period === undefined) {
    throw fieldRule('interval', `must be one of ${Object.keys(PERIODS).join(', ')}`)
  }
  const nextMs = endOf(period, baseMs, zone)
  if (interval !== 'month' || anchorDay === undefined) return nextMs
  const { year, month } = localTime(zone, nextMs)
  const lastDay = new Date(Date.UTC(year, month, 0)).getUTCDate()
  const day = Math.min(anchorDay, lastDay)
  return instantOf(zone, { year, month, day, hour: 0, minute: 0, second: 0 })
}

/**
 * The fields that change with the charge of a due date, which may be late: the next date is counted
 * from this one, so that each is charged.
 */
export function afterCharge(
  renewal: Fields,
  dueMs: number,
  { nowMs, zone }: Zoned,
): Fields & { next_renew: Date } {
  const interval = String(renewal['interval'] ?? 'month')
  const day = Number(renewal['anchor_day'] ?? localTime(zone, dueMs).day)
  return {
    cycles_remaining: Number(renewal['cycles_remaining']) - 1,
    last_renew: new Date(nowMs),
    next_renew: new Date(nextRenewMs(interval, dueMs, zone, day)),
    ...(interval === 'month' && day > SHORTEST_MONTH && { anchor_day: day }),
  }
}

/**
 * Stores the renewal in its state after the charge; the charge itself is a follow-up operation on
 * the ledger.
 */
function withFirstCharge<T>(
  decision: ChangeDecision<T>,
  renewal: RawDocument,
  context: RuleContext,
): ChangeDecision<T> {
  if (renewal['immediate'] !== true) return { ...decision, isNew: true }
  const { nowMs } = context
  const followUp = renewalEntry(renewal, nowMs, context.actor)
  const steps = decision.steps.map((step) => ({
    ...step,
    document: { ...step.document, ...afterCharge(step.document, nowMs, context) },
  }))
  return { ...decision, steps, followUp, isNew: true }
}

/** Every month has these days, so dates on them never have to be adjusted. */
const SHORTEST_MONTH = 28

/** The day to return to after a shorter month, if the month length matters. */
export function anchorOf(interval: string, atMs: number, zone: string): { anchor_day?: number } {
  const { day } = localTime(zone, atMs)
  return interval === 'month' && day > SHORTEST_MONTH ? { anchor_day: day } : {}
}

/** A changed date changes the anchor; clients may also send back the stored date. */
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
  throw fieldRule('bucket_group:', `there is no prepaid group ${name} at ${date}`)
}

/** An immediate renewal requires that the subscriber exists now. */
async function checkHolder(document: RawDocument, context: RuleContext): Promise<void> {
  const { sid, aid, immediate } = document
  const atMs = immediate === true ? context.nowMs : Math.max(context.nowMs, fromOf(document))
  const outside = await context.lookup.subscribers([Number(sid)], atMs)
  if (outside !== null && outside.get(Number(sid))?.['aid'] === aid) return
  const when = immediate === true ? validAt(context.nowMs) : {}
  const stored = { type: 'subscriber', sid, aid, ...when }
  if (outside === null && (await exists(context, 'subscribers', stored))) return
  throw fieldRule(
    'sid:',
    `there is no subscriber ${sid} of account ${aid}${immediate === true ? ' now' : ''}`,
  )
}

function checkNext(document: RawDocument, context: RuleContext): void {
  const { next_renew: next } = document
  const leastMs = tomorrow(context)
  const nextMs = instantAt(next, 'next_renew', context) ?? fromOf(document)
  if (nextMs >= leastMs) return
  const date = dateText(leastMs, context.zone)
  throw fieldRule('next_renew', `must not be before ${date}, unless immediate is true`)
}
