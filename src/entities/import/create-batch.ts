/**
 * Creates many entities together: the reads that `create` makes for one entity are made once for
 * all of them, and all are stored with one write.
 */
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { RawDocument } from '../../catalog/compile/document.ts'
import type { EntityCollection } from '../../catalog/entities/entity-table.ts'
import { DuplicateEntityError, EntityConflictError } from '../../catalog/errors.ts'
import { checkedEntityWith } from '../../catalog/revisions/check.ts'
import { type ChangeDecision, changeEntities } from '../../catalog/revisions/entity-changes.ts'
import { readReferences } from '../../catalog/revisions/references.ts'
import { raiseSequence } from '../../catalog/revisions/sequence.ts'
import type { RevisionWrite } from '../../catalog/revisions/store-revisions.ts'
import { withAuditEntries } from '../actions/audit-entries.ts'
import { newDocument } from '../actions/create.ts'
import { ruleContextOf } from '../actions/decision.ts'
import { isNumbered } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import { findDocuments } from '../revisions.ts'
import { withEarlierAccountStart } from '../rules/account-start.ts'
import { createRuleCache } from '../rules/cache.ts'
import { Draft, fromOf } from '../timeline/draft.ts'
import { accountStarts, linkedAccounts } from './accounts.ts'
import { documentIdOf, type ImportJob, type NewRow, withCache } from './job.ts'
import { checkStoredRevision, migratedRow, stepsWithDerivedDates } from './migration.ts'
import { assignNumbers } from './numbers.ts'
import { PendingValues } from './pending-values.ts'
import { problemOf } from './problems.ts'
import { createRequest, migrationRequest } from './requests.ts'
import { taxCheck } from './taxes.ts'
import { buildUniquenessIndex, type UniquenessIndex } from './uniqueness-index.ts'
import type { ValidUnit } from './unit.ts'

/** Why units were not created, by unit; created units are not included. */
export type UnitProblems = Map<ValidUnit, string>

/**
 * Number of rows after which the event loop is released for the previous batch and for other
 * requests.
 */
const ROWS_PER_TURN = 20

/** New documents of a batch with their numbers; none of them is stored yet. */
export interface PreparedUnits {
  rows: readonly NewRow[]
  /** Units that fail independently of the stored data. */
  problems: UnitProblems
}

/**
 * Prepares everything that does not depend on the collection itself, because the previous batch may
 * still be in progress. Rejects if a store is unavailable.
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
      rows.push({ unit, document: await documentOf(job, unit, { cached, aid: accountOf(unit) }) })
    } catch (error) {
      problems.set(unit, problemOf(error, job))
    }
  }
  const numbered = job.settings.isMigration ? rows : await assignNumbers(job, rows)
  return { rows: numbered.map((row) => withDerivedFields(job, row)), problems }
}

/** `aid`: the account that the linker has found. Throws `ApiError`. */
async function documentOf(
  job: ImportJob,
  unit: ValidUnit,
  { cached, aid }: { cached: EntityStores; aid: number | null },
): Promise<RawDocument> {
  if (job.settings.isMigration) {
    const { update, kept } = migratedRow(job, unit)
    return { ...(await newDocument(cached, migrationRequest(job, update))), ...kept }
  }
  const document = await newDocument(cached, createRequest(job, unit, aid))
  return { ...document, _id: documentIdOf(job.importId, unit) }
}

/**
 * Rejects if a store is unavailable: some documents may be written then, and are detected on the
 * next attempt.
 */
export async function createUnits(
  job: ImportJob,
  { rows, problems }: PreparedUnits,
): Promise<UnitProblems> {
  const all: UnitProblems = new Map(problems)
  if (job.pendingValues === null) await write(job, rows, all)
  else await decide(job, rows, all)
  return all
}

/** The dates of a migrated row are derived together with those of its other revisions. */
function withDerivedFields({ definition, settings, stores }: ImportJob, row: NewRow): NewRow {
  const rules = stores.rules[definition.name]
  const draft = new Draft([])
  draft.insert(row.document)
  if (!settings.isMigration) rules?.derive?.(draft, draft.revisions())
  rules?.seal?.(draft)
  const [document = row.document] = draft.revisions()
  return { ...row, document }
}

async function write(
  job: ImportJob,
  rows: readonly NewRow[],
  problems: UnitProblems,
  attempt = 1,
): Promise<void> {
  if (rows.length === 0) return
  try {
    const { result } = await changeEntities(
      job.stores,
      `import ${job.definition.name}`,
      async () => {
        const problemsFound: UnitProblems = new Map()
        const decided = await decide(job, rows, problemsFound)
        return { ...decided, result: { found: problemsFound, early: decided.early } }
      },
    )
    for (const [unit, problem] of result.found) problems.set(unit, problem)
    for (const row of result.early) await writeWithEarlierAccount(job, row, problems)
  } catch (error) {
    const isOne = rows.length === 1
    const isRace = error instanceof DuplicateEntityError || error instanceof EntityConflictError
    if (isOne) problems.set((rows[0] as NewRow).unit, problemOf(error, job))
    else if (!isRace) throw error
    // The second attempt usually detects the conflict; otherwise rows are written one by one, so
    // that a conflict affects only its own row.
    else if (attempt === 1) await write(job, rows, problems, attempt + 1)
    else for (const row of rows) await write(job, [row], problems)
  }
}

type BatchDecision = Omit<ChangeDecision<unknown>, 'result'> & { early: NewRow[] }

/** Validates the rows against the store and decides which of them are written. */
async function decide(
  job: ImportJob,
  given: readonly NewRow[],
  problems: UnitProblems,
): Promise<BatchDecision> {
  const { stores, definition, pendingValues } = job
  const collection = definition.store as EntityCollection
  const { isMigration } = job.settings
  const rows = await withoutStored(job, given, problems)
  const documents = rows.map(({ document }) => document)
  const isLinked = hasTrait(definition, 'isLinked')
  const accountStartsMs = isLinked ? await accountStarts(job, documents) : new Map()
  const { catalog, config, rules } = stores
  const reading = { catalog, zone: config.rating.timeZone }
  const checkNew = await rules[definition.name]?.newEntityCheck?.(documents, reading)
  const uniqueness = await buildUniquenessIndex(job, rows, pendingValues ?? new PendingValues())
  const references = await readReferences(catalog, collection, documents)
  const cache = createRuleCache()
  // Fills the cache for the account check of the subscriber rules, which these reads have already
  // made.
  for (const aid of accountStartsMs.keys()) await cache.of(`accounts/${aid}`, async () => true)
  const accepted: NewRow[] = []
  const early: NewRow[] = []
  for (const row of rows) {
    try {
      const document = await checked(job, row, { uniqueness, references, cache, checkNew })
      const beginMs = isMigration ? undefined : accountStartsMs.get(document['aid'])
      const isEarly = beginMs !== undefined && fromOf(document) < beginMs
      const target = isEarly ? early : accepted
      target.push({ ...row, document })
    } catch (error) {
      problems.set(row.unit, problemOf(error, job))
    }
  }
  const decided = { collection, ...(await writesOf(job, accepted)), result: null }
  return { ...withAuditEntries(decided, job, 'create', null), early }
}

/** The writes of accepted rows. */
async function writesOf(
  job: ImportJob,
  rows: readonly NewRow[],
): Promise<Pick<ChangeDecision<null>, 'steps' | 'before' | 'isNew'>> {
  const { definition, settings, stores, pendingValues } = job
  if (!settings.isMigration || !isNumbered(definition) || rows.length === 0) {
    return { steps: rows.map(({ document }) => ({ mode: 'insert', document })), isNew: true }
  }
  const numbers = rows.map(({ document }) => Number(document[definition.keyField]))
  if (pendingValues === null) await raiseSequence(stores.catalog, Math.max(...numbers))
  const { steps, before } = await stepsWithDerivedDates(job, rows)
  return { steps, before, isNew: before.length === 0 }
}

interface RowCheckContext {
  uniqueness: UniquenessIndex
  references: Awaited<ReturnType<typeof readReferences>>
  cache: ReturnType<typeof createRuleCache>
  checkNew: ((document: RawDocument) => void) | undefined
}

async function checked(
  { stores, definition, actor }: ImportJob,
  { unit, document }: NewRow,
  { uniqueness, references, cache, checkNew }: RowCheckContext,
): Promise<RawDocument> {
  const timeZone = stores.config.rating.timeZone
  const context = { ...ruleContextOf(stores, 'create', fromOf(document), actor), cache }
  checkNew?.(document)
  uniqueness.check(document, unit)
  await stores.rules[definition.name]?.check?.(document, null, context)
  const collection = definition.store as EntityCollection
  const options = { mode: 'insert', timeZone } as const
  const entity = checkedEntityWith(collection, document, options, references)
  uniqueness.add(document, unit)
  return entity
}

/** An interrupted attempt of this import, or an earlier migration, may have written some rows. */
async function withoutStored(
  job: ImportJob,
  rows: readonly NewRow[],
  problems: UnitProblems,
): Promise<readonly NewRow[]> {
  const { stores, definition, settings } = job
  const ids = rows.map(({ document }) => document._id)
  const filter = { _id: { $in: ids } }
  const found = await findDocuments(stores.catalog, definition, filter, ids.length)
  const stored = new Map(found.map((document) => [document._id.toHexString(), document]))
  return rows.filter(({ unit, document }) => {
    const before = stored.get(document._id.toHexString())
    if (before === undefined) return true
    try {
      if (settings.isMigration) checkStoredRevision(job, document, before)
    } catch (error) {
      problems.set(unit, problemOf(error, job))
    }
    return false
  })
}

/** Writes a subscriber that starts before its account together with the change of the account. */
async function writeWithEarlierAccount(
  job: ImportJob,
  row: NewRow,
  problems: UnitProblems,
): Promise<void> {
  const { catalog, config } = job.stores
  const zone = config.rating.timeZone
  try {
    const { result } = await changeEntities(
      job.stores,
      `import ${job.definition.name}`,
      async () => {
        const problemsFound: UnitProblems = new Map()
        const { early, collection, steps } = await decide(job, [row], problemsFound)
        const [document] = [...early.map((one) => one.document), ...documentsOf(steps)]
        if (document === undefined) return { collection, steps: [], result: problemsFound }
        const insert: RevisionWrite = { mode: 'insert', document }
        const decision = { collection, steps: [insert], result: problemsFound }
        const whole = await withEarlierAccountStart(decision, document, { catalog, zone })
        return withAuditEntries(whole, job, 'create', null)
      },
    )
    for (const [unit, problem] of result) problems.set(unit, problem)
  } catch (error) {
    problems.set(row.unit, problemOf(error, job))
  }
}

function documentsOf(steps: readonly RevisionWrite[]): RawDocument[] {
  return steps.map(({ document }) => document)
}
