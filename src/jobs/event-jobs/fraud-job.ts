/**
 * The standing job that evaluates the rules of usage patterns: each rule for each of its windows,
 * in their order, once the window is over.
 */
import { NODE_ACTOR } from '../../catalog/actor.ts'
import type { Catalog } from '../../catalog/connection.ts'
import {
  digestOf,
  type FraudEventDocument,
  ruleEventDocument,
} from '../../catalog/records/events/rule-event.ts'
import { exactAmount } from '../../catalog/records/money/exact-amount.ts'
import { fraudRulesIn } from '../../catalog/settings/events/event-settings.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { stateOf } from '../../catalog/transactions/state.ts'
import {
  type FraudRule,
  type FraudWindow,
  nextWindowMs,
  SUM_FIELDS,
  windowsDue,
} from '../../domain/events/fraud.ts'
import type { Fields } from '../../domain/fields.ts'
import type { Clock } from '../../runtime/clock.ts'
import type { Logger } from '../../runtime/log.ts'
import { beginJob, type ClaimedJob, JobLostError } from '../jobs.ts'
import type { JobHandler } from '../runner.ts'
import {
  ALL_SUBSCRIBERS,
  fraudPipeline,
  linesAfter,
  linesOf,
  partsOf,
  type ReportedSubscriber,
  type SubscriberShare,
  sidsIn,
  type WindowSums,
} from './fraud-sums.ts'
import { createInvalidRules, type ReportInvalid } from './invalid-rules.ts'
import { readPosition } from './position.ts'

export interface FraudParts {
  catalog: Catalog
  clock: Clock
}

const STANDING_MS = 10_000
/** Subscribers of one transaction. */
const BATCH = 200
const READ_MS_MAX = 10 * 60_000
const STEP = 'usage patterns'

/** Begins the standing job, unless there is one. */
export async function beginFraudRules(stores: Parameters<typeof beginJob>[0]): Promise<void> {
  await beginJob(stores, { kind: 'fraud', subject: 'lines', options: {}, actor: NODE_ACTOR })
}

/**
 * A rule that fails does not keep the others from being evaluated; the job fails with its error
 * then, and is repeated. Logs rules that are left out.
 */
export function fraudHandler({
  catalog,
  clock,
  log,
}: FraudParts & { log: Pick<Logger, 'warn'> }): JobHandler {
  const reportInvalid = createInvalidRules(log)
  return async (claimed, signal) => {
    const nowMs = clock.nowMs()
    const rules = await readRules(catalog, reportInvalid)
    const known = claimed.job.position ?? {}
    // Rules that are gone are forgotten.
    let position = Object.fromEntries(
      [...rules.keys()].flatMap((id) => (known[id] === undefined ? [] : [[id, known[id]]])),
    )
    let failure: unknown = null
    for (const [id, rule] of rules) {
      try {
        for (const window of windowsDue(rule, position[id]?.getTime() ?? null, nowMs)) {
          if (signal.aborted) return nowMs
          await evaluate({ catalog, claimed, signal, nowMs }, { id, rule }, window)
          position = { ...position, [id]: new Date(window.toMs) }
          await claimed.saveProgress(STEP, position)
        }
      } catch (error) {
        if (error instanceof JobLostError || signal.aborted) throw error
        failure ??= error
      }
    }
    if (failure !== null) throw failure
    return nowMs + STANDING_MS
  }
}

/** Active rules by the digests of what they count: equal ones are one. */
async function readRules(
  catalog: Catalog,
  reportInvalid?: ReportInvalid,
): Promise<Map<string, FraudRule>> {
  const { value } = await readCategory(catalog, 'events')
  const { rules, invalid } = fraudRulesIn(value)
  reportInvalid?.(invalid)
  return new Map(rules.map((rule) => [digestOf([rule.identity]), rule]))
}

/** When the next window is due; null without rules. */
export async function nextFraudWindowMs({ catalog, clock }: FraudParts): Promise<number | null> {
  const rules = await readRules(catalog)
  if (rules.size === 0) return null
  const position = await readPosition(catalog, 'fraud')
  const due = [...rules].map(([id, rule]) => {
    const last = position[id]
    return last === undefined ? clock.nowMs() : nextWindowMs(rule, last.getTime())
  })
  return Math.min(...due)
}

interface Run {
  readonly catalog: Catalog
  readonly claimed: ClaimedJob
  readonly signal: AbortSignal
  readonly nowMs: number
}

interface NamedRule {
  readonly id: string
  readonly rule: FraudRule
}

/**
 * If the subscribers are too many for the memory of the server, they are evaluated in shares. What
 * is repeated has the same stamps.
 */
async function evaluate(
  run: Run,
  named: NamedRule,
  window: FraudWindow,
  share: SubscriberShare = ALL_SUBSCRIBERS,
): Promise<void> {
  try {
    await evaluateShare(run, named, window, share)
  } catch (error) {
    const parts = exceedsMemory(error) ? partsOf(share) : []
    if (parts.length === 0) throw error
    for (const part of parts) await evaluate(run, named, window, part)
  }
}

/** MongoDB's code of a group that may not use the disk, as in the embedded server. */
function exceedsMemory(error: unknown): boolean {
  return error instanceof Error && (error as Error & { code?: unknown }).code === 292
}

async function evaluateShare(
  run: Run,
  named: NamedRule,
  window: FraudWindow,
  share: SubscriberShare,
): Promise<void> {
  const { rule } = named
  const { linesOverlap } = rule
  // All subscribers are many: the other sums are added up for the found ones only.
  const all = fraudPipeline(rule, window, { sid: sidsIn(share) }, [])
  for await (const found of sumsIn(run, all)) {
    const known = linesOverlap ? [] : await reportedAmong(run, named, window, found)
    const isKnown = new Set(known.map(({ _id }) => keyOf(_id)))
    const others = found.filter(({ _id }) => !isKnown.has(keyOf(_id)))
    if (others.length > 0) await report(run, named, window, linesOf(others))
  }
  if (linesOverlap) return
  for await (const reported of readReported(run, named, window, share)) {
    await report(run, named, window, linesAfter(reported))
  }
}

function sumsIn(
  { catalog, signal }: Run,
  pipeline: readonly Fields[],
): AsyncGenerator<WindowSums[]> {
  return catalog.readBatches(
    'add up lines',
    (limits) =>
      catalog.unguarded.lines.aggregate<WindowSums>([...pipeline], {
        ...limits,
        allowDiskUse: true,
        batchSize: BATCH,
      }),
    { signal, limitMs: READ_MS_MAX },
  )
}

/** Selects events of the rule from earlier windows, about lines of this one. */
function earlierEvents({ id }: NamedRule, { fromMs, toMs }: FraudWindow): Fields {
  return {
    event_type: 'fraud',
    rule_ref: id,
    max_urt: { $gte: new Date(fromMs) },
    to: { $lt: new Date(toMs) },
  }
}

const BY_SUBSCRIBER = {
  $group: {
    _id: { aid: '$extra_params.aid', sid: '$extra_params.sid' },
    max_urt: { $max: '$max_urt' },
  },
}

function readReported(
  { catalog, signal }: Run,
  named: NamedRule,
  window: FraudWindow,
  share: SubscriberShare,
): AsyncGenerator<ReportedSubscriber[]> {
  const match = { ...earlierEvents(named, window), 'extra_params.sid': sidsIn(share) }
  const pipeline = [{ $match: match }, BY_SUBSCRIBER]
  return catalog.readBatches(
    'find reported subscribers',
    (limits) =>
      catalog.unguarded.events.aggregate<ReportedSubscriber>(pipeline, {
        ...limits,
        allowDiskUse: true,
        batchSize: BATCH,
      }),
    { signal, limitMs: READ_MS_MAX },
  )
}

function reportedAmong(
  { catalog }: Run,
  named: NamedRule,
  window: FraudWindow,
  found: readonly Pick<WindowSums, '_id'>[],
): Promise<ReportedSubscriber[]> {
  const sids = found.map(({ _id }) => _id.sid)
  const match = { ...earlierEvents(named, window), 'extra_params.sid': { $in: sids } }
  return catalog.reads.events
    .aggregate<ReportedSubscriber>([{ $match: match }, BY_SUBSCRIBER])
    .toArray()
}

function keyOf({ aid, sid }: ReportedSubscriber['_id']): string {
  return `${aid}/${sid}`
}

/** Reports those subscribers that meet the thresholds by the selected lines. */
async function report(
  run: Run,
  named: NamedRule,
  window: FraudWindow,
  selected: Fields,
): Promise<void> {
  const pipeline = fraudPipeline(named.rule, window, selected, SUM_FIELDS)
  for await (const found of sumsIn(run, pipeline)) {
    const events = found.map((sums) => fraudEvent(named, window, sums, run.nowMs))
    await run.claimed.commitBatch(STEP, async (session) => {
      stateOf(session).writes.addOnce('events', events)
      return { events: events.length }
    })
  }
}

/** Once per rule, subscriber and window. */
function fraudEvent(
  { id, rule }: NamedRule,
  { fromMs, toMs }: FraudWindow,
  { _id: { aid, sid }, max_urt, ...sums }: WindowSums,
  nowMs: number,
): FraudEventDocument {
  const row = Object.fromEntries(
    SUM_FIELDS.map((field) => [field, exactAmount(sums[field]).toNumber()]),
  )
  const identity = [id, aid, sid, toMs]
  const basedOn = isOfMoney(rule) ? 'monetary' : 'usage'
  const event = { type: 'fraud', identity, aid, sid, row, basedOn } as const
  return {
    ...ruleEventDocument(rule, event, nowMs),
    event_type: 'fraud',
    thresholds: rule.stored,
    from: new Date(fromMs),
    to: new Date(toMs),
    max_urt,
    rule_ref: id,
  }
}

function isOfMoney({ thresholds }: FraudRule): boolean {
  return thresholds.flat().some(({ field }) => field === 'aprice' || field === 'final_charge')
}
