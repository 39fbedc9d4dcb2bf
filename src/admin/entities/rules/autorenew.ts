/**
 * Prepaid groups that are given again and again (R33, spec/entity-api.md 3.16). The charge of one
 * that is `immediate` is not made here, where nothing is stored yet: who creates it charges it, and
 * then stores `afterCharge`.
 */
import type { RawDocument } from '../../../catalog/compile/document.ts'
import { isUnset } from '../../../catalog/field.ts'
import type { ServicePeriod } from '../../../domain/catalogue.ts'
import { endOf } from '../../../rating/periods.ts'
import { RuleError } from '../errors.ts'
import { dateText } from '../timeline/dates.ts'
import { type Fields, fromOf } from '../timeline/draft.ts'
import { exists, heldAt } from './lookups.ts'
import type { CollectionRules, RuleContext } from './rule.ts'
import { instantAt, isChanged } from './values.ts'

type Zoned = Pick<RuleContext, 'nowMs' | 'zone'>

export const AUTORENEW_RULES: CollectionRules = {
  async prepare(changes, target, context) {
    if (target !== null) return changes
    const { interval: given, next_renew: next, immediate, cycles } = changes.set
    const interval = isUnset(given) ? 'month' : String(given)
    const baseMs = immediate === true ? tomorrow(context) : context.nowMs
    const nextMs =
      instantAt(next, 'next_renew', context) ?? nextRenewMs(interval, baseMs, context.zone)
    const added = { interval, next_renew: new Date(nextMs), cycles_remaining: cycles }
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
 * for it, the last one. Throws `RuleError` for an interval that there is not.
 */
export function nextRenewMs(interval: string, baseMs: number, zone: string): number {
  const period = Object.hasOwn(PERIODS, interval) ? PERIODS[interval] : undefined
  if (period === undefined) {
    throw new RuleError(`interval must be one of ${Object.keys(PERIODS).join(', ')}`)
  }
  return endOf(period, baseMs, zone)
}

/** What changes of it when it has been charged, at once or by a later run. */
export function afterCharge(renewal: Fields, { nowMs, zone }: Zoned): Fields {
  const interval = String(renewal['interval'] ?? 'month')
  return {
    cycles_remaining: Number(renewal['cycles_remaining']) - 1,
    last_renew: new Date(nowMs),
    next_renew: new Date(nextRenewMs(interval, nowMs, zone)),
  }
}

function tomorrow({ nowMs, zone }: Zoned): number {
  return endOf(DAY, nowMs, zone)
}

async function checkGroup(document: RawDocument, context: RuleContext): Promise<void> {
  const { bucket_group: name } = document
  const { nowMs, zone } = context
  if (await exists(context, 'prepaidgroups', { name, ...heldAt(nowMs) })) return
  const date = dateText(nowMs, zone)
  throw new RuleError(`bucket_group: there is no prepaid group ${name} at ${date}`)
}

/** Who is given something at once must be there now. */
async function checkHolder(document: RawDocument, context: RuleContext): Promise<void> {
  const { sid, aid, immediate } = document
  const when = immediate === true ? heldAt(context.nowMs) : {}
  if (await exists(context, 'subscribers', { type: 'subscriber', sid, aid, ...when })) return
  throw new RuleError(
    `sid: there is no subscriber ${sid} of account ${aid}${immediate === true ? ' now' : ''}`,
  )
}

function checkNext(document: RawDocument, context: RuleContext): void {
  const { next_renew: next } = document
  const leastMs = tomorrow(context)
  const nextMs = instantAt(next, 'next_renew', context) ?? fromOf(document)
  if (nextMs >= leastMs) return
  const date = dateText(leastMs, context.zone)
  throw new RuleError(`next_renew must not be before ${date}, unless immediate is true`)
}
