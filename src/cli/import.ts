/**
 * `tollgate import`: creates or changes entities from the rows of a file, directly in the stores.
 */
import { createWriteStream, existsSync } from 'node:fs'
import { basename } from 'node:path'
import { finished } from 'node:stream/promises'
import { createEntityApi } from '../admin/entity-api.ts'
import { isObject } from '../domain/fields.ts'
import { DEFINITIONS, IMPORT_OPERATIONS } from '../entities/definitions/collections.ts'
import type { CollectionDefinition } from '../entities/definitions/definition.ts'
import { ImportStoppedError, type ImportWatch, importRows } from '../entities/import/import-rows.ts'
import { MIGRATED, migrationSettings } from '../entities/import/migration.ts'
import { readSettings } from '../entities/import/read-settings.ts'
import { type ImportResult, importEnvelope } from '../entities/import/result.ts'
import { migrateBalances } from '../prepaid/balances/migrate.ts'
import { ApiError } from '../requests/errors.ts'
import { monotonicMs } from '../runtime/clock.ts'
import { createLogger } from '../runtime/log.ts'
import { type StatusLine, WorkRate } from '../runtime/terminal.ts'
import { readDocument } from './document-file.ts'
import { CommandError, UsageError } from './errors.ts'
import { DOCUMENT_COLLECTIONS, importDocumentFile } from './import-documents.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalText } from './options.ts'
import type { Shell } from './shell.ts'
import { patienceIn, type Stores, withStores } from './stores.ts'

/** Number of failed rows listed; `--failed` writes all of them. */
const LISTED_MAX = 20

/** Returns 0 if all rows succeeded, otherwise 1. Throws `CommandError` or `UsageError`. */
export async function importFile(
  shell: Shell,
  collection: string,
  file: string,
  options: OptionValues,
): Promise<0 | 1> {
  const isMigration = options['migrate'] === true
  if (DOCUMENT_COLLECTIONS.includes(collection)) {
    return importDocuments(shell, collection, file, options)
  }
  checkCollection(collection, isMigration)
  if (isMigration) checkMigration(collection, options)
  checkFile(file)
  const update = await settingsIn(shell, optionalText(options, 'settings'))
  const config = shell.config()
  const log = createLogger({ name: 'cli', level: 'silent' })
  const failed = failedFile(optionalText(options, 'failed'))
  const status = new ImportStatus(shell, failed.add)
  try {
    const act = async ({ catalog, ledger, clock, accounts: { lookup } }: Stores) => {
      const api = createEntityApi({ catalog, ledger, clock, config, lookup, log })
      const isDryRun = options['dry-run'] === true
      // A migration usually precedes the first start.
      if (isMigration && !isDryRun) await catalog.ensureIndexes()
      if (collection === BALANCES) {
        return migrateBalances(api, { actor: operator(), path: file, isDryRun }, status)
      }
      const definition = DEFINITIONS.get(collection) as CollectionDefinition
      const operation = optionalText(options, 'operation') ?? ''
      const parameters = { ...update, ...(isDryRun && { dry_run: true }) }
      const settings = isMigration
        ? migrationSettings(isDryRun)
        : await readSettings(api, definition, parameters, operation)
      const fields = await api.fields.of(definition)
      const importId = optionalText(options, 'resume') ?? null
      const source = { path: file, name: basename(file) }
      const who = { actor: operator(), definition, fields }
      const request = { ...who, settings, file: source, importId }
      return importRows(api.stores, request, status)
    }
    const result = await withStores(config, act, patienceIn(shell, config))
    status.end()
    printResult(shell, result, status, options)
    return result.failed === 0 ? 0 : 1
  } catch (error) {
    status.end()
    if (!(error instanceof ApiError)) throw error
    throw new CommandError(stopText(error) ?? error.message, { cause: error })
  } finally {
    await failed.close()
  }
}

function stopText(error: ApiError): string | null {
  if (!(error instanceof ImportStoppedError)) return null
  const { importId, rows } = error
  return `a store is unavailable: ${rows} rows are done; continue with --resume ${importId}`
}

const BALANCES = 'balances'

function checkCollection(collection: string, isMigration: boolean): void {
  const known = isMigration
    ? [...MIGRATED, BALANCES]
    : [...IMPORT_OPERATIONS.keys(), ...DOCUMENT_COLLECTIONS]
  if (known.includes(collection)) return
  const which = isMigration ? 'with --migrate, COLLECTION' : 'COLLECTION'
  throw new UsageError(`${which} must be one of ${known.join(', ')}, not '${collection}'`)
}

/** Documents of the replaced system have one form. */
function checkMigration(collection: string, options: OptionValues): void {
  const others = ['operation', 'settings', ...(collection === BALANCES ? ['resume'] : [])]
  const other = others.find((name) => options[name] !== undefined)
  if (other === undefined) return
  const hint = other === 'resume' ? ': a repetition adds nothing' : ''
  throw new UsageError(`--${other} is not for ${collection} with --migrate${hint}`)
}

function checkFile(file: string): void {
  if (existsSync(file)) return
  throw new CommandError(`there is no file ${file}; it is read twice, so it cannot be a pipe`)
}

async function importDocuments(
  shell: Shell,
  collection: string,
  file: string,
  options: OptionValues,
): Promise<0 | 1> {
  checkFile(file)
  const failed = failedFile(optionalText(options, 'failed'))
  try {
    return await importDocumentFile(shell, collection, file, options, failed.add)
  } finally {
    await failed.close()
  }
}

/** Without settings, the columns are those of an export. */
async function settingsIn(
  shell: Shell,
  file: string | undefined,
): Promise<Readonly<Record<string, unknown>>> {
  if (file === undefined) return { importType: 'predefined_mapping' }
  const settings = await readDocument(shell, file)
  if (isObject(settings)) return settings
  throw new CommandError(`${file} must be an object with the settings of an import`)
}

type Failure = Parameters<NonNullable<ImportWatch['onFailure']>>[0]

function failedFile(path: string | undefined): {
  add(failure: object): void
  close(): Promise<void>
} {
  if (path === undefined) return { add: () => undefined, close: async () => undefined }
  const stream = createWriteStream(path)
  // `close` reports the error: it must not stop the import.
  stream.on('error', () => undefined)
  return {
    add: (failure) => {
      if (!stream.destroyed) stream.write(`${JSON.stringify(failure)}\n`)
    },
    close: async () => {
      stream.end()
      try {
        await finished(stream)
      } catch (error) {
        throw new CommandError(`cannot write ${path}: ${(error as Error).message}`)
      }
    },
  }
}

const TERMINAL_MS = 100
const LINES_MS = 5_000

class ImportStatus implements ImportWatch {
  readonly listed: Failure[] = []
  readonly #shell: Shell
  readonly #line: StatusLine
  readonly #add: (failure: Failure) => void
  readonly #beganMs = monotonicMs()
  #shownMs = 0
  #rate = new WorkRate(this.#beganMs)

  constructor(shell: Shell, add: (failure: Failure) => void) {
    this.#shell = shell
    this.#line = shell.statusLine()
    this.#add = add
    this.#shownMs = this.#beganMs
  }

  onBegin({ importId, total, done }: { importId: string | null; total: number; done: number }) {
    this.#rate = new WorkRate(this.#beganMs, done)
    if (importId === null) return
    const from = done === 0 ? '' : `, ${done} of them done before`
    const more = `--resume ${importId} continues it`
    this.#shell.printError(`import ${importId}: ${total} rows${from}; ${more}`)
  }

  onProgress({ total, done, failed }: { total: number; done: number; failed: number }): void {
    const nowMs = monotonicMs()
    if (nowMs - this.#shownMs < (this.#line.isTerminal ? TERMINAL_MS : LINES_MS)) return
    this.#shownMs = nowMs
    const rate = this.#rate.text({ done, total }, nowMs)
    this.#line.show(`${done} of ${total} rows${rate}, ${failed} failed`, done / total)
  }

  onFailure(failure: Failure): void {
    if (this.listed.length < LISTED_MAX) this.listed.push(failure)
    this.#add(failure)
  }

  end(): void {
    this.#line.clear()
  }
}

function printResult(
  shell: Shell,
  result: ImportResult,
  { listed }: ImportStatus,
  options: OptionValues,
): void {
  for (const { row, text } of listed) shell.printError(`row ${row}: ${text}`)
  const { total, succeeded, failed, isDryRun } = result
  if (failed > listed.length) shell.printError(`and ${failed - listed.length} more`)
  for (const name of result.ignored) shell.printError(`${name} is not a field here: ignored`)
  if (options['json'] === true) {
    shell.print(JSON.stringify(importEnvelope(result)))
    return
  }
  const done = isDryRun ? 'would be imported' : 'imported'
  shell.print(`${succeeded} of ${total} rows ${done}, ${failed} failed`)
}
