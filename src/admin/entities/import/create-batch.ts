/**
 * Creates many entities together: what one `create` asks of the store is asked once for all of
 * them, and they are written with one write (spec/entity-api.md 2.4, 2.12).
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { EntityCollection, ObjectId } from '../../../catalog/collections.ts'
import type { RawDocument } from '../../../catalog/compile/document.ts'
import { DuplicateEntityError, EntityConflictError } from '../../../catalog/errors.ts'
import { type ChangeDecision, changeEntities } from '../../../catalog/revisions/entity-changes.ts'
import { readReferences } from '../../../catalog/revisions/references.ts'
import type { RevisionWrite } from '../../../catalog/revisions/store-steps.ts'
import { checkedEntityWith } from '../../../catalog/revisions/write.ts'
import { withEarlierAccountStart } from '../actions/account-start.ts'
import { withAuditEntries } from '../actions/audit-entries.ts'
import { ruleContextOf } from '../actions/commit.ts'
import { newDocument } from '../actions/create.ts'
import { entityLockName, findDocuments } from '../actions/revisions.ts'
import { documentLockNames } from '../actions/uniqueness.ts'
import { createRuleCache } from '../rules/cache.ts'
import { Draft, fromOf } from '../timeline/draft.ts'
import { deriveAccount, deriveSubscriber } from '../timeline/subscriber-dates.ts'
import { accountStarts, linkedAccounts } from './accounts.ts'
import { documentIdOf, type ImportJob, type NewRow, withCache } from './job.ts'
import { assignNumbers, hasNumbers } from './numbers.ts'
import { PendingValues } from './pending-values.ts'
import { problemOf } from './problems.ts'
import { createRequest } from './requests.ts'
import { taxCheck } from './taxes.ts'
import { buildUniquenessIndex, type UniquenessIndex } from './uniqueness-index.ts'
import type { ValidUnit } from './unit.ts'

/** By unit: why it was not created; those that were are not in it. */
export type UnitProblems = Map<ValidUnit, string>

/** After so many rows others have their turn: the batch before, and who else asks this process. */
const ROWS_PER_TURN = 20

/** New documents of a batch, each with its number; nothing of them is in the store. */
export interface PreparedUnits {
  rows: readonly NewRow[]
  /** Of those that cannot be created, whatever the store has. */
  problems: UnitProblems
}

/**
 * What needs nothing of the same collection: the batch before it may still be on its way. Rejects
 * with an outage.
 */
export async function prepareUnits(
  job: ImportJob,
  units: readonly ValidUnit[],
): Promise<PreparedUnits> {
  const problems: UnitProblems = new Map()
  const accountOf = await linkedAccounts(job, units)
  const checkTax = await taxCheck(job, units)
  const cached = withCache(job.stores, createRuleCache())
  const rows: NewRow[] = []
  for (const [index, unit] of units.entries()) {
    if (index % ROWS_PER_TURN === ROWS_PER_TURN - 1) await nextTurn()
    try {
      checkTax(unit)
      const request = createRequest(job, unit, accountOf(unit))
      const document = await newDocument(cached, request)
      rows.push({ unit, document: { ...document, _id: documentIdOf(job.importId, unit) } })
    } catch (error) {
      problems.set(unit, problemOf(error, job))
    }
  }
  const numbered = await assignNumbers(job, rows)
  return { rows: numbered.map(withDerivedDates(job)), problems }
}

/** Rejects with an outage: some of them may then be written, and are found the next time. */
export async function createUnits(
  job: ImportJob,
  { rows, problems }: PreparedUnits,
): Promise<UnitProblems> {
  const all: UnitProblems = new Map(problems)
  if (job.pendingValues === null) await write(job, rows, all)
  else await decide(job, rows, all)
  return all
}

/** What the first revision of an account or subscriber says of itself. */
function withDerivedDates({ definition: { name } }: ImportJob): (row: NewRow) => NewRow {
  return (row) => {
    if (!hasNumbers(name)) return row
    const draft = new Draft([row.document])
    if (name === 'subscribers') deriveSubscriber(draft)
    else deriveAccount(draft)
    return { ...row, document: draft.revisions()[0] ?? row.document }
  }
}

async function write(
  job: ImportJob,
  rows: readonly NewRow[],
  problems: UnitProblems,
  attempt = 1,
): Promise<void> {
  if (rows.length === 0) return
  try {
    const chains = [...new Set(rows.flatMap((row) => lockNamesOf(job, row)))]
    const { result } = await changeEntities(job.stores, chains, async () => {
      const found: UnitProblems = new Map()
      const decided = await decide(job, rows, found)
      return { ...decided, result: { found, early: decided.early } }
    })
    for (const [unit, problem] of result.found) problems.set(unit, problem)
    for (const row of result.early) await writeWithEarlierAccount(job, row, problems)
  } catch (error) {
    const isOne = rows.length === 1
    const isRace = error instanceof DuplicateEntityError || error instanceof EntityConflictError
    if (isOne) problems.set((rows[0] as NewRow).unit, problemOf(error, job))
    else if (!isRace) throw error
    // What was in the way is found now; if not, only one of them is in the way of the others.
    else if (attempt === 1) await write(job, rows, problems, attempt + 1)
    else for (const row of rows) await write(job, [row], problems)
  }
}

function lockNamesOf({ definition, fields }: ImportJob, { document }: NewRow): string[] {
  const { keyField, name } = definition
  return [
    // A number that was just taken is nobody else's.
    ...(hasNumbers(name) ? [] : [entityLockName(definition, document[keyField])]),
    ...documentLockNames(definition, fields, document),
  ]
}

type BatchDecision = Omit<ChangeDecision<unknown>, 'result'> & { early: NewRow[] }

/** What of the rows can be written, with everything that the store has to say to it. */
async function decide(
  job: ImportJob,
  given: readonly NewRow[],
  problems: UnitProblems,
): Promise<BatchDecision> {
  const { stores, definition, pendingValues } = job
  const collection = definition.store as EntityCollection
  const rows = await withoutStored(job, given)
  const documents = rows.map(({ document }) => document)
  const begins = definition.name === 'subscribers' ? await accountStarts(job, documents) : new Map()
  const taken = await buildUniquenessIndex(job, rows, pendingValues ?? new PendingValues())
  const known = await readReferences(stores.catalog, collection, documents)
  const cache = createRuleCache()
  // What was just read, as the rules of subscribers ask for it.
  for (const aid of begins.keys()) await cache.of(`accounts/${aid}`, async () => true)
  const steps: RevisionWrite[] = []
  const early: NewRow[] = []
  for (const row of rows) {
    try {
      const document = await checked(job, row, { taken, known, cache })
      const beginMs = begins.get(document['aid'])
      if (beginMs !== undefined && fromOf(document) < beginMs) early.push({ ...row, document })
      else steps.push({ mode: 'insert', document })
    } catch (error) {
      problems.set(row.unit, problemOf(error, job))
    }
  }
  const decided = { collection, steps, isIndependent: true, isNew: true, result: null }
  return { ...withAuditEntries(decided, job, 'create', null), early }
}

interface RowCheckContext {
  taken: UniquenessIndex
  known: Awaited<ReturnType<typeof readReferences>>
  cache: ReturnType<typeof createRuleCache>
}

async function checked(
  { stores, definition, actor }: ImportJob,
  { unit, document }: NewRow,
  { taken, known, cache }: RowCheckContext,
): Promise<RawDocument> {
  const timeZone = stores.config.rating.timeZone
  const context = { ...ruleContextOf(stores, 'create', fromOf(document), actor), cache }
  taken.check(document, unit)
  await stores.rules[definition.name]?.check?.(document, null, context)
  const collection = definition.store as EntityCollection
  const options = { mode: 'insert', timeZone } as const
  const entity = checkedEntityWith(collection, document, options, known)
  taken.add(document, unit)
  return entity
}

/** An import that was cut off may have written some of them. */
async function withoutStored(
  { stores, definition }: ImportJob,
  rows: readonly NewRow[],
): Promise<readonly NewRow[]> {
  const ids = rows.map(({ document }) => document._id)
  const there = await storedIds(stores, definition, ids)
  return rows.filter(({ document }) => !there.has(document._id.toHexString()))
}

async function storedIds(
  { catalog }: ImportJob['stores'],
  definition: ImportJob['definition'],
  ids: readonly ObjectId[],
): Promise<ReadonlySet<string>> {
  const found = await findDocuments(catalog, definition, { _id: { $in: ids } }, ids.length)
  return new Set(found.map(({ _id: id }) => id.toHexString()))
}

/** A subscriber who begins before the account does: both are written, or neither. */
async function writeWithEarlierAccount(
  job: ImportJob,
  row: NewRow,
  problems: UnitProblems,
): Promise<void> {
  try {
    const { result } = await changeEntities(job.stores, lockNamesOf(job, row), async () => {
      const found: UnitProblems = new Map()
      const { early, collection, steps } = await decide(job, [row], found)
      const [document] = [...early.map((one) => one.document), ...documentsOf(steps)]
      if (document === undefined) return { collection, steps: [], result: found }
      const insert: RevisionWrite = { mode: 'insert', document }
      const decision = { collection, steps: [insert], result: found }
      const whole = await withEarlierAccountStart(job.stores, decision, document)
      return withAuditEntries(whole, job, 'create', null)
    })
    for (const [unit, problem] of result) problems.set(unit, problem)
  } catch (error) {
    problems.set(row.unit, problemOf(error, job))
  }
}

function documentsOf(steps: readonly RevisionWrite[]): RawDocument[] {
  return steps.map(({ document }) => document)
}
