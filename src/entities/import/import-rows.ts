/**
 * The action `import`: each row of a file becomes a create or a permanentchange. An invalid row
 * does not affect the others, and an interrupted import can be resumed.
 */

import { randomUUID } from 'node:crypto'
import type { Actor } from '../../catalog/actor.ts'
import { auditDocument } from '../../catalog/audit/audit.ts'
import type { Collection } from '../../catalog/collections.ts'
import { CatalogUnavailableError } from '../../catalog/errors.ts'
import { repeated } from '../../catalog/patience.ts'
import type { AuditDocument } from '../../catalog/records/audit-document.ts'
import { about } from '../../domain/field-errors.ts'
import { ExecutionError, RequestError } from '../../requests/errors.ts'
import type { CollectionDefinition } from '../definitions/definition.ts'
import { hasTrait } from '../definitions/traits.ts'
import type { FieldDefinition } from '../fields/field-definition.ts'
import type { EntityStores } from '../requests/entity-request.ts'
import { changeUnit, writeOverrides } from './change-units.ts'
import { createUnits, type PreparedUnits, prepareUnits } from './create-batch.ts'
import type { ImportJob } from './job.ts'
import { PendingValues } from './pending-values.ts'
import { type ImportFile, type Prescan, prescan } from './prescan.ts'
import { isOutage } from './problems.ts'
import { beginProgress, type Failure, type ImportProgress } from './progress.ts'
import { type ImportResult, ResultSummary } from './result.ts'
import type { ImportSettings } from './settings.ts'
import { readSource } from './source.ts'
import { isValidUnit, type RowResults, type Unit, type ValidUnit } from './unit.ts'

export interface ImportRequest {
  actor: Actor
  definition: CollectionDefinition
  /** Configured fields of the collection. */
  fields: readonly FieldDefinition[]
  settings: ImportSettings
  file: ImportFile
  /** Id of the import to resume; null for a new one. */
  importId: string | null
}

/** Callbacks during an import. */
export interface ImportWatch {
  onBegin?(begin: { importId: string | null; total: number; done: number }): void
  onProgress?(progress: { total: number; done: number; failed: number }): void
  onFailure?(failure: Failure): void
}

/**
 * Large enough that reads and progress updates per batch are cheap, and small enough that little is
 * repeated after an interruption.
 */
const BATCH_MAX = 500
const IMPORT_ID = /^[\w.-]{1,64}$/

/**
 * Imports a file. Rejects with `ExecutionError` if nothing can be imported, or with `RequestError`
 * 503 (`ImportStoppedError`) if a store is unavailable for longer than the patience of the
 * catalogue; the import can then be resumed.
 */
export async function importRows(
  stores: EntityStores,
  request: ImportRequest,
  watch: ImportWatch = {},
): Promise<ImportResult> {
  const { actor, definition, fields, settings, file } = request
  const importId = importIdOf(request)
  checkLinks(request)
  const rowsMax = stores.config.entities.importRowsMax
  const found = await prescan({ definition, fields, settings, file, rowsMax })
  const { isDryRun } = settings
  const pendingValues = isDryRun ? new PendingValues() : null
  const job: ImportJob = {
    stores,
    actor,
    definition,
    fields,
    settings,
    importId,
    ignored: new Set(),
    pendingValues,
  }
  const { rows: rowsTotal, checksum } = found
  if (isDryRun) return new ImportRun(job, found, null, watch).run(file)
  const { name: collection } = definition
  const start = { importId, collection, operation: settings.operation, checksum, rowsTotal }
  const stopOf = (error: unknown, rows: number) =>
    isOutage(error) ? new ImportStoppedError(importId, rows) : error
  const progress = await beginProgress(stores, { ...start, fileName: file.name }).catch((error) => {
    throw stopOf(error, 0)
  })
  try {
    await ensureIndexes(job)
    const result = await new ImportRun(job, found, progress, watch).run(file)
    if (progress.isDone) return result
    const record = recordOf(job, file, result)
    await repeated(() => progress.complete(record), stores.catalog.patience, isOutage)
    return result
  } catch (error) {
    await progress.stop().catch(() => undefined)
    throw stopOf(error, progress.rowsDone)
  }
}

/** A store was unavailable. The import can be resumed. */
export class ImportStoppedError extends RequestError {
  override name = 'ImportStoppedError'
  readonly importId: string
  /** Done before. */
  readonly rows: number

  constructor(importId: string, rows: number) {
    const where = `import ${importId} stopped after ${rows} rows`
    super(503, `a store is unavailable: ${where}; resume it with the same file and import_id`)
    this.importId = importId
    this.rows = rows
  }
}

/** Audit record of the import, in addition to those of its rows. */
function recordOf(
  { stores, actor, definition, settings, importId }: ImportJob,
  { name: fileName }: ImportFile,
  { total, succeeded, failed }: ImportResult,
): AuditDocument {
  const { operation } = settings
  const done = { import_id: importId, file_name: fileName, operation, total, succeeded, failed }
  const entry = { collection: definition.name, type: 'import', key: importId, new: done }
  const nowMs = stores.clock.nowMs()
  return auditDocument(actor, nowMs, entry, `import/${importId}`)
}

function importIdOf({ importId, settings }: ImportRequest): string {
  if (importId === null || settings.isDryRun) return randomUUID()
  if (IMPORT_ID.test(importId)) return importId
  throw new ExecutionError(...about('import_id', 'must be 1 to 64 letters, digits, _, - and dots'))
}

function checkLinks({ definition, settings }: ImportRequest): void {
  const isManual = settings.type === 'manual_mapping' && settings.format !== 'jsonl'
  const isMapped = isManual && settings.map.size > 0
  if (!isMapped) return
  if (hasTrait(definition, 'isLinked') && settings.linker === null) {
    throw new ExecutionError(
      ...about('update.linker', 'is missing: it identifies the account of a row', 'missing'),
    )
  }
  if (settings.operation === 'permanentchange' && settings.updater === null) {
    throw new ExecutionError(
      ...about('update.updater', 'is missing: it identifies the entity of a row', 'missing'),
    )
  }
}

/** Indexes for the lookups of each batch, which would otherwise scan the whole collection. */
async function ensureIndexes({ stores, definition, fields, settings }: ImportJob): Promise<void> {
  const unique = fields.filter((field) => field.unique === true && field.generated !== true)
  const names = unique.map(({ field_name: name }) => name)
  const linked = settings.linker === null ? [] : [settings.linker.field]
  const { catalog, log } = stores
  const documents = catalog[definition.store] as unknown as Collection
  for (const name of new Set([...names, ...linked])) {
    try {
      await documents.createIndex({ [name]: 1 })
    } catch (error) {
      if (!(error instanceof CatalogUnavailableError)) throw error
      log.warn({ err: error, index: name }, 'an import may be slow: there is no index yet')
    }
  }
}

class ImportRun {
  readonly #job: ImportJob
  readonly #prescan: Prescan
  /** Null in a dry run. */
  readonly #progress: ImportProgress | null
  readonly #watch: ImportWatch
  readonly #summary: ResultSummary
  readonly #unitsToSkip: number
  readonly #failedBefore: ReadonlyMap<string, string>

  constructor(job: ImportJob, found: Prescan, progress: ImportProgress | null, watch: ImportWatch) {
    this.#job = job
    this.#prescan = found
    this.#progress = progress
    this.#watch = watch
    this.#summary = new ResultSummary(found.rows)
    this.#unitsToSkip = progress?.unitsDone ?? 0
    const before = progress?.failures ?? []
    this.#failedBefore = new Map(before.map(({ row, text }) => [row, text]))
  }

  async run(file: ImportFile): Promise<ImportResult> {
    const watch = this.#watch
    const found = this.#prescan
    const progress = this.#progress
    const job = this.#job
    const { patience } = job.stores.catalog
    const importId = progress === null ? null : job.importId
    watch.onBegin?.({ importId, total: found.rows, done: progress?.rowsDone ?? 0 })
    let writing: Promise<void> = Promise.resolve()
    try {
      for await (const units of this.#batches(file)) {
        const ready = await repeated(() => prepareBatch(job, units), patience, isOutage)
        await writing
        writing = repeated(() => this.#write(ready), patience, isOutage)
        // The error is handled where the promise is awaited.
        writing.catch(() => undefined)
      }
    } finally {
      await writing
    }
    this.#countUnlisted()
    return this.#summary.result(importId, [...this.#job.ignored])
  }

  async *#batches(file: ImportFile): AsyncGenerator<Unit[]> {
    let skipped = 0
    let batch: Unit[] = []
    for await (const unit of this.#units(file)) {
      if (skipped < this.#unitsToSkip) {
        skipped += 1
        this.#skipUnit(unit)
        continue
      }
      batch.push(unit)
      if (batch.length < BATCH_MAX) continue
      yield batch
      batch = []
    }
    if (batch.length > 0) yield batch
  }

  async *#units(file: ImportFile): AsyncGenerator<Unit> {
    const { format, map, lines } = this.#prescan
    const { delimiter } = this.#job.settings
    let isHeader = format === 'csv'
    for await (const row of readSource({ path: file.path, format, delimiter })) {
      if (isHeader) {
        isHeader = false
        continue
      }
      const mapped = map(row)
      const unit = lines === null ? singleUnit(mapped) : lines.add(mapped)
      if (unit !== null) yield unit
    }
  }

  /** Adds the result of a unit that an earlier attempt has processed. */
  #skipUnit({ labels }: Unit): void {
    for (const row of labels) {
      const text = this.#failedBefore.get(row)
      if (text === undefined) this.#summary.succeed(row)
      else this.#reportFailure({ row, text })
    }
  }

  /** Corrects the counts for failures beyond the stored ones, whose rows are unknown. */
  #countUnlisted(): void {
    const before = this.#progress?.rowsFailed ?? 0
    const unlisted = before - this.#summary.failed
    if (unlisted <= 0) return
    this.#summary.failUnlisted(unlisted)
    this.#summary.succeeded -= unlisted
  }

  #reportFailure(failure: Failure): void {
    this.#summary.fail(failure)
    this.#watch.onFailure?.(failure)
  }

  async #write(batch: PreparedBatch): Promise<void> {
    const { units } = batch
    const results = await writeBatch(this.#job, batch)
    const failures: Failure[] = []
    const labels = units.flatMap((unit) => unit.labels)
    for (const row of labels) {
      const text = results.get(row)
      if (typeof text === 'string') failures.push({ row, text })
    }
    await this.#progress?.recordBatch({ units: units.length, rows: labels.length, failures })
    const failed = new Set(failures.map(({ row }) => row))
    for (const row of labels) if (!failed.has(row)) this.#summary.succeed(row)
    for (const failure of failures) this.#reportFailure(failure)
    const { succeeded, failed: count } = this.#summary
    this.#watch.onProgress?.({ total: this.#prescan.rows, done: succeeded + count, failed: count })
  }
}

function singleUnit(row: ReturnType<Prescan['map']>): Unit {
  if ('problem' in row) return { labels: [row.label], problem: row.problem }
  const { label, ...mapped } = row
  return { labels: [label], ...mapped, prices: [], overrides: [], ownLabels: [label] }
}

/** A batch with all preparation that does not depend on the previous batch. */
interface PreparedBatch {
  units: readonly Unit[]
  valid: readonly ValidUnit[]
  /** Null if the import does not create entities. */
  prepared: PreparedUnits | null
}

async function prepareBatch(job: ImportJob, units: readonly Unit[]): Promise<PreparedBatch> {
  const valid = units.filter(isValidUnit)
  const isCreate = job.settings.operation === 'create'
  const prepared = isCreate ? await prepareUnits(job, valid.filter(hasOwnRows)) : null
  return { units, valid, prepared }
}

async function writeBatch(
  job: ImportJob,
  { units, valid, prepared }: PreparedBatch,
): Promise<RowResults> {
  const results: RowResults = new Map()
  for (const unit of units) {
    if (isValidUnit(unit)) continue
    for (const label of unit.labels) results.set(label, unit.problem)
  }
  const isCreate = prepared !== null
  const problems = isCreate
    ? await createUnits(job, prepared)
    : await changeAll(job, valid.filter(hasOwnRows))
  for (const unit of valid) {
    const problem = problems.get(unit)
    const labels = problem === undefined ? unit.ownLabels : unit.labels
    for (const label of labels) results.set(label, problem ?? true)
    if (problem !== undefined || unit.overrides.length === 0) continue
    const isThere = job.pendingValues === null || !isCreate || unit.ownLabels.length === 0
    for (const [row, result] of await writeOverrides(job, unit, isThere)) results.set(row, result)
  }
  return results
}

/** A unit may consist of price rows of plans and services only. */
function hasOwnRows({ ownLabels }: ValidUnit): boolean {
  return ownLabels.length > 0
}

async function changeAll(
  job: ImportJob,
  units: readonly ValidUnit[],
): Promise<ReadonlyMap<ValidUnit, string>> {
  const problems = new Map<ValidUnit, string>()
  for (const unit of units) {
    const problem = await changeUnit(job, unit)
    if (problem !== null) problems.set(unit, problem)
  }
  return problems
}
