/** The life of tariff change sets. */
import { appendAudit } from '../../catalog/audit/audit.ts'
import type { ClientSession } from '../../catalog/collections.ts'
import type { TariffSetDocument, TariffWrite } from '../../catalog/records/tariff-set-document.ts'
import { stateOf } from '../../catalog/transactions/state.ts'
import { tryTransaction } from '../../catalog/trial.ts'
import type { FieldIssue } from '../../domain/field-errors.ts'
import { isObject } from '../../domain/fields.ts'
import {
  answeredIssues,
  EntityRuleError,
  fieldRule,
  InvalidFieldsError,
  NotAllowedError,
} from '../../requests/errors.ts'
import type { EntityApi } from '../api.ts'
import { failedCases, type RunCase } from './cases.ts'
import { restoreAll } from './restore.ts'
import { applyWrites, readWrites, type TariffWork, WRITES_MAX, writesOf } from './writes.ts'

export const TARIFF_STATES = [
  'draft',
  'checked',
  'failed',
  'scheduled',
  'activated',
  'rolled_back',
] as const
export type TariffState = (typeof TARIFF_STATES)[number]

const SETS_MAX = 1000

/** A set without the copies of revisions, which may be large. */
export type ListedSet = Omit<TariffSetDocument, 'changes'>

const OPEN: readonly TariffState[] = ['draft', 'checked', 'failed']

export interface TariffDraft {
  name: string
  activation: Date
  writes: readonly unknown[]
  cases: readonly unknown[]
}

/** The state at an instant: a scheduled set is activated by its time alone. */
function tariffState(
  { state, activation }: Pick<TariffSetDocument, 'state' | 'activation'>,
  nowMs: number,
): TariffState {
  return state === 'scheduled' && activation.getTime() <= nowMs ? 'activated' : state
}

export function listSets({ stores }: EntityApi, name: string | undefined): Promise<ListedSet[]> {
  const filter = name === undefined ? {} : { _id: name }
  return stores.catalog.tariffsets
    .find(filter, { projection: { changes: 0 } })
    .sort({ activation: -1 })
    .limit(SETS_MAX)
    .toArray()
}

/** Creates a draft, or replaces one. Throws `InvalidFieldsError` or `NotAllowedError`. */
export async function prepareSet(
  work: TariffWork,
  { name, activation, writes, cases }: TariffDraft,
): Promise<TariffSetDocument> {
  const issues: FieldIssue[] = []
  const read = readWrites(writes, issues)
  if (writes.length === 0) issues.push({ path: 'writes', reason: 'must not be empty' })
  if (writes.length > WRITES_MAX) {
    issues.push({ path: 'writes', reason: `has more than ${WRITES_MAX} members` })
  }
  for (const [index, each] of cases.entries()) {
    if (!isObject(each)) issues.push({ path: `cases.${index}`, reason: 'must be an object' })
  }
  if (issues.length > 0) throw new InvalidFieldsError(issues)
  await requirePermits(work, read)
  const { catalog, clock } = work.api.stores
  return catalog.transaction(`prepare tariff change set ${name}`, async (session) => {
    const found = await catalog.tariffsets.findOne({ _id: name })
    if (found !== null) {
      await requirePermits(work, writesOf(found))
      refuseState(found, 'prepare', OPEN, clock.nowMs())
    }
    const set = {
      ...{ _id: name, activation, writes: JSON.stringify(read), cases: JSON.stringify(cases) },
      ...{ state: 'draft' as const, errors: [], changes: [], rolled_back_at: null },
      ...{ numbers: stateOf(session).head.numbers, history: found?.history ?? [] },
    }
    if (found === null) await catalog.tariffsets.insertOne({ ...set }, { session })
    return stored(work, session, set, 'prepare', set)
  })
}

/** Tries the writes, and prices the cases by them. Nothing of the catalogue changes. */
export async function checkSet(
  work: TariffWork,
  name: string,
  runCase: RunCase,
): Promise<TariffSetDocument> {
  const { catalog, clock } = work.api.stores
  const set = await setOf(work, name)
  refuseState(set, 'check', OPEN, clock.nowMs())
  const what = `check tariff change set ${name}`
  const tried = await tryTransaction(catalog, what, (session) => applyWrites(work, set, session))
  const isLate = set.activation.getTime() <= clock.nowMs()
  const late = { path: 'activation', reason: 'must be in the future' }
  const errors = [...(isLate ? [late] : []), ...tried.issues]
  if (errors.length === 0) {
    const cases = JSON.parse(set.cases) as unknown[]
    errors.push(...(await failedCases(cases, tried, work.api.stores, runCase)))
  }
  const state = errors.length === 0 ? 'checked' : 'failed'
  return catalog.transaction(what, (session) =>
    stored(work, session, set, 'check', { state, errors }),
  )
}

/** Checks the set and writes all its revisions, or none. Throws `InvalidFieldsError`. */
export async function scheduleSet(
  work: TariffWork,
  name: string,
  runCase: RunCase,
): Promise<TariffSetDocument> {
  const { catalog, clock } = work.api.stores
  const set = await checkSet(work, name, runCase)
  if (set.state === 'failed') throw new InvalidFieldsError(set.errors)
  return catalog.transaction(`schedule tariff change set ${name}`, async (session) => {
    const { issues, changes } = await applyWrites(work, set, session)
    if (issues.length > 0) throw new InvalidFieldsError(issues)
    if (set.activation.getTime() <= clock.nowMs()) {
      throw fieldRule('activation', 'has passed meanwhile')
    }
    return stored(work, session, set, 'schedule', { state: 'scheduled', changes })
  })
}

/** Removes all revisions of a scheduled set, which is a draft again. */
export function cancelSet(work: TariffWork, name: string): Promise<TariffSetDocument> {
  return takeBack(work, name, 'cancel', null)
}

/** The previous terms apply again from `at` on, by default from now on. */
export function rollBackSet(
  work: TariffWork,
  name: string,
  at: Date | null,
): Promise<TariffSetDocument> {
  return takeBack(work, name, 'rollback', at)
}

function takeBack(
  work: TariffWork,
  name: string,
  action: 'cancel' | 'rollback',
  at: Date | null,
): Promise<TariffSetDocument> {
  const { catalog, clock } = work.api.stores
  const isCancel = action === 'cancel'
  return catalog.transaction(`${action} tariff change set ${name}`, async (session) => {
    const set = await setOf(work, name)
    const nowMs = clock.nowMs()
    refuseState(set, action, [isCancel ? 'scheduled' : 'activated'], nowMs)
    const from = at ?? new Date(nowMs)
    if (from.getTime() < nowMs) throw fieldRule('at', 'must not be in the past')
    const issues = await restoreAll(work, set, isCancel ? 0 : from.getTime(), session)
    if (issues.length > 0) throw new InvalidFieldsError(issues)
    const { numbers } = stateOf(session).head
    const changes = isCancel
      ? { state: 'draft' as const, changes: [], numbers: { ...numbers } }
      : { state: 'rolled_back' as const, rolled_back_at: from }
    return stored(work, session, set, action, changes)
  })
}

/** Throws `NotAllowedError` if the actor may not do each of its writes. */
async function setOf(work: TariffWork, name: string): Promise<TariffSetDocument> {
  const found = await work.api.stores.catalog.tariffsets.findOne({ _id: name })
  if (found === null) {
    const text = `there is no tariff change set ${name}`
    throw new EntityRuleError(text, { path: 'name', code: 'not_found' })
  }
  await requirePermits(work, writesOf(found))
  return found
}

async function requirePermits(
  { permits }: TariffWork,
  writes: readonly TariffWrite[],
): Promise<void> {
  for (const write of writes) {
    if (await permits(write)) continue
    const { collection, action } = write
    const text = `No permission for ${collection}/${action}, which the set contains`
    throw new NotAllowedError(text)
  }
}

function refuseState(
  set: TariffSetDocument,
  action: string,
  allowed: readonly TariffState[],
  nowMs: number,
): void {
  const state = tariffState(set, nowMs)
  if (allowed.includes(state)) return
  const text = `${action}: the set is ${state}, not ${allowed.join(' or ')}`
  throw new EntityRuleError(text, 'conflict')
}

/** Stores a step of the set as it was read, with its audit record. */
async function stored(
  { api, actor }: TariffWork,
  session: ClientSession,
  set: TariffSetDocument,
  action: string,
  changes: Partial<TariffSetDocument>,
): Promise<TariffSetDocument> {
  const { catalog, clock } = api.stores
  const nowMs = clock.nowMs()
  const by = actor.name || actor.id
  const history = [...set.history, { action, at: new Date(nowMs), by }]
  const next = { ...set, ...changes, history }
  // Each step is one more: another one has come between otherwise.
  const filter = { _id: set._id, history: { $size: set.history.length } }
  const { matchedCount } = await catalog.tariffsets.replaceOne(filter, next, { session })
  if (matchedCount === 0) {
    throw new EntityRuleError(`${action}: the set has been changed meanwhile`, 'conflict')
  }
  const { state, activation, rolled_back_at } = next
  const entry = { collection: 'tariffsets', type: action, key: set._id }
  appendAudit(session, actor, nowMs, { ...entry, new: { state, activation, rolled_back_at } })
  return next
}

/** A set as API and commands show it. */
export function setView(set: ListedSet, nowMs: number) {
  const { _id: name, activation, errors, history, rolled_back_at: rolledBackAt } = set
  return {
    ...{ name, activation, state: tariffState(set, nowMs), history },
    ...(rolledBackAt !== null && { rolled_back_at: rolledBackAt }),
    writes: writesOf(set),
    cases: JSON.parse(set.cases) as readonly Readonly<Record<string, unknown>>[],
    errors: answeredIssues(errors),
  }
}
