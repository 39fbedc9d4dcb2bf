/**
 * Auto-renewals of a subscriber, written by charging plan and dates: as one, or all of them at
 * once. They are the entities of `/billapi/autorenew`.
 */
import { type CustomerSource, subscriberAt } from '../../billing/customer-lookup.ts'
import type { Actor } from '../../catalog/actor.ts'
import { ObjectId } from '../../catalog/collections.ts'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { Catalog } from '../../catalog/connection.ts'
import { checkedEntity } from '../../catalog/revisions/check.ts'
import { type ChangeDecision, changeEntities } from '../../catalog/revisions/entity-changes.ts'
import type { RevisionWrite } from '../../catalog/revisions/store-revisions.ts'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import type { Config } from '../../config/schema.ts'
import { dateText } from '../../entities/timeline/dates.ts'
import { endOf } from '../../rating/periods.ts'
import { fieldRule } from '../../requests/errors.ts'
import type { Clock } from '../../runtime/clock.ts'
import { findChargingPlan } from '../balances/charging-plan.ts'
import { type Interval, remainingFrom, scheduleOf } from './schedule.ts'

export interface UpsertStores extends CustomerSource {
  clock: Clock
  config: Pick<Config, 'rating'>
  actor: Actor
}

export interface RequestedRenewal {
  /** Name of the charging plan. */
  plan: string
  /** Absent: from now on. */
  from?: Date | undefined
  /** Its day is the last one. */
  to: Date
  interval: Interval
  operation: 'inc' | 'set'
}

const DAY = { months: 0, days: 1, hours: 0, untilMidnight: true }
const SECOND_MS = 1_000

/**
 * Creates the auto-renewal of this charging plan that begins on this day, or changes its end,
 * interval and operation: the next date stays. Returns it as stored. Rejects with
 * `EntityRuleError`.
 */
export async function upsertRenewal(
  stores: UpsertStores,
  sid: number,
  renewal: RequestedRenewal & { from: Date },
): Promise<RawDocument> {
  const owner = await ownerOf(stores, sid)
  const [stored] = await change(stores, sid, 'update', async (known) => {
    const zone = stores.config.rating.timeZone
    const day = dayText(renewal.from, zone)
    const same = known.find(
      (one) => one['bucket_group'] === renewal.plan && dayText(one['from'] as Date, zone) === day,
    )
    return { writes: [await writeOf(stores, owner, renewal, same)], ended: [] }
  })
  return stored as RawDocument
}

/**
 * Makes the auto-renewals of a subscriber these: others that are open end now, and those with the
 * charging plan of an open one change it. Returns them as stored, in their order; all are written
 * or none. Rejects with `EntityRuleError`.
 */
export async function replaceRenewals(
  stores: UpsertStores,
  sid: number,
  expected: readonly RequestedRenewal[],
): Promise<RawDocument[]> {
  const now = new Date(stores.clock.nowMs())
  const owner = await ownerOf(stores, sid)
  return change(stores, sid, 'bydelta', async (known) => {
    const open = known.filter(({ to }) => (to as Date).getTime() > now.getTime())
    const writes: RevisionWrite[] = []
    for (const [index, renewal] of expected.entries()) {
      const same = open.find(({ bucket_group: group }) => group === renewal.plan)
      const at = `expected.${index}.`
      writes.push(await writeOf(stores, owner, { ...renewal, from: renewal.from ?? now }, same, at))
    }
    const plans = new Set(expected.map(({ plan }) => plan))
    const ended = open.filter(({ bucket_group: group }) => !plans.has(String(group)))
    return { writes, ended: ended.map((one) => endedAt(one, now)) }
  })
}

/** One that has not begun is deleted. */
function endedAt(renewal: RawDocument, now: Date): RevisionWrite {
  const hasBegun = (renewal['from'] as Date).getTime() < now.getTime()
  const end = hasBegun ? { to: now } : { deleted: true, deleted_at: now }
  return { mode: 'replace', document: { ...renewal, ...end } }
}

interface Writes {
  /** These documents are returned. */
  writes: readonly RevisionWrite[]
  ended: readonly RevisionWrite[]
}

async function change(
  stores: UpsertStores,
  sid: number,
  type: string,
  decide: (known: readonly RawDocument[]) => Promise<Writes>,
): Promise<RawDocument[]> {
  const { catalog, actor, config } = stores
  const { stored, result } = await changeEntities(stores, 'change auto-renewals', async () => {
    const known = (await findRenewals(catalog, { sid })) as readonly RawDocument[]
    const { writes, ended } = await decide(known)
    const before = new Map(known.map((one) => [one._id.toHexString(), one]))
    const steps = [...writes, ...ended]
    for (const { mode, document } of steps) {
      const options = { mode, timeZone: config.rating.timeZone } as const
      await checkedEntity(catalog, 'autorenew', document, options)
    }
    const audited = steps.map(({ mode, document: { _id } }) => {
      const key = _id.toHexString()
      const old = before.get(key) ?? null
      return {
        id: _id,
        key,
        old,
        collection: 'autorenew',
        type: mode === 'insert' ? 'create' : type,
      }
    })
    const ids = writes.map(({ document }) => document._id.toHexString())
    const decision: ChangeDecision<string[]> = {
      collection: 'autorenew',
      steps,
      audit: { actor, steps: audited },
      result: ids,
    }
    return decision
  })
  return result.map((id) => stored.get(id) as RawDocument)
}

/** Renewals that are not deleted, by their begin. */
export async function findRenewals(catalog: Catalog, filter: object): Promise<RawDocument[]> {
  const found = await catalog.reads.autorenew
    .find({ ...filter, ...NOT_DELETED } as object)
    .sort({ from: 1, _id: 1 })
    .toArray()
  return found as unknown as RawDocument[]
}

/** The subscriber, and its account now; null if it has none. */
interface Owner {
  sid: number
  aid: number | null
}

/** A customer system is asked before the transaction begins. */
async function ownerOf(stores: UpsertStores, sid: number): Promise<Owner> {
  const found = await subscriberAt(stores, sid, stores.clock.nowMs())
  return { sid, aid: found?.aid ?? null }
}

/** `at`: path of the renewal in errors. */
async function writeOf(
  stores: UpsertStores,
  { sid, aid }: Owner,
  renewal: RequestedRenewal & { from: Date },
  same: RawDocument | undefined,
  at = '',
): Promise<RevisionWrite> {
  const { catalog, clock, config } = stores
  const nowMs = clock.nowMs()
  const zone = config.rating.timeZone
  await findChargingPlan(catalog, renewal.plan, nowMs)
  const { interval, operation } = renewal
  // The last second of its day.
  const toMs = endOf(DAY, renewal.to.getTime(), zone) - SECOND_MS
  const to = new Date(toMs)
  if (same !== undefined) {
    const change = { interval, operation, to }
    return { mode: 'replace', document: changed(same, change, nowMs, zone) }
  }
  const fromMs = renewal.from.getTime()
  const { cycles, done, nextMs, ...anchor } = scheduleOf({ interval, fromMs, toMs }, nowMs, zone)
  if (toMs < fromMs || nextMs > toMs) {
    const next = dateText(nextMs, zone)
    throw fieldRule(`${at}to:`, `there is no renewal until then; the first is on ${next}`)
  }
  if (aid === null) throw fieldRule('sid:', `there is no subscriber ${sid} now`)
  return {
    mode: 'insert',
    document: {
      _id: new ObjectId(),
      rev: 0,
      from: renewal.from,
      to,
      creation_time: new Date(nowMs),
      aid,
      sid,
      bucket_group: renewal.plan,
      cycles,
      cycles_remaining: cycles - done,
      interval,
      operation,
      immediate: false,
      next_renew: new Date(nextMs),
      ...anchor,
    } as unknown as RawDocument,
  }
}

/** Earlier charges stay counted. */
function changed(
  stored: RawDocument,
  { interval, operation, to }: Pick<RequestedRenewal, 'interval' | 'operation' | 'to'>,
  nowMs: number,
  zone: string,
): RawDocument {
  const { from, next_renew: next, cycles, cycles_remaining, anchor_day: anchor } = stored
  const anchorDay = interval === 'month' && typeof anchor === 'number' ? anchor : undefined
  const span = { interval, fromMs: (from as Date).getTime(), toMs: to.getTime() }
  // One that had ended has no next date.
  const nextMs = next instanceof Date ? next.getTime() : scheduleOf(span, nowMs, zone).nextMs
  const remaining = remainingFrom(nextMs, span, zone, anchorDay)
  const done = Number(cycles) - Number(cycles_remaining)
  return {
    ...stored,
    interval,
    operation,
    to,
    cycles: Math.max(1, done + remaining),
    cycles_remaining: remaining,
    next_renew: new Date(nextMs),
    anchor_day: anchorDay,
  }
}

function dayText(at: Date, zone: string): string {
  return dateText(at.getTime(), zone).slice(0, 10)
}
