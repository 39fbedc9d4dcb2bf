/** `tollgate export`: entities as CSV or lines of JSON. */
import { createWriteStream } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Catalog } from '../catalog/connection.ts'
import { repeatingReads } from '../catalog/repeating-reads.ts'
import { DEFINITIONS } from '../entities/definitions/collections.ts'
import type { ActionName, CollectionDefinition } from '../entities/definitions/definition.ts'
import { exportRequestOf } from '../entities/export/export-request.ts'
import { exportRows } from '../entities/export/export-rows.ts'
import { createCurrentFields } from '../entities/fields/current.ts'
import { recordRead } from '../entities/read-records.ts'
import { ApiError } from '../requests/errors.ts'
import type { Clock } from '../runtime/clock.ts'
import { CommandError, UsageError } from './errors.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalText } from './options.ts'
import { Progress } from './progress.ts'
import type { Shell } from './shell.ts'
import { patienceIn, withCatalog } from './stores.ts'

/** Throws `CommandError` or `UsageError`. The output file is written completely or not at all. */
export async function exportFile(
  shell: Shell,
  collection: string,
  options: OptionValues,
): Promise<0> {
  const definition = definitionOf(collection)
  const config = shell.config()
  const output = optionalText(options, 'output')
  const parameters = ['query', 'states', 'format', 'delimiter'].flatMap((name) => {
    const value = optionalText(options, name)
    return value === undefined ? [] : [[name, value] as const]
  })
  const patience = patienceIn(shell, config)
  try {
    const act = async (catalog: Catalog, clock: Clock) => {
      const fields = createCurrentFields(catalog, clock, config)
      const request = exportRequestOf(new Map(parameters), {
        definition,
        action: actionOf(definition),
        fields: await fields.of(definition),
        entities: config.entities,
        timeZone: config.rating.timeZone,
        nowMs: clock.nowMs(),
      })
      const stores = { catalog, config, clock }
      const done = { definition, action: 'export', filter: request.filter, rows: null } as const
      await recordRead(stores, operator(), done)
      await send(shell, exportRows(repeatingReads(catalog), request), output)
    }
    await withCatalog(config, act, patience)
    return 0
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    throw new CommandError(error.message, { cause: error })
  }
}

/** Collections without an export action use the query rules of their read action. */
function actionOf({ actions }: CollectionDefinition): ActionName {
  const names = ['export', 'uniqueget', 'get'] as const
  return names.find((name) => actions[name] !== undefined) ?? 'get'
}

/** Collections of records have neither revisions nor import columns. */
const RECORDS: ReadonlySet<string> = new Set(['lines', 'balances', 'bills'])

function definitionOf(collection: string): CollectionDefinition {
  const definition = DEFINITIONS.get(collection)
  if (definition !== undefined && !RECORDS.has(collection)) return definition
  const known = [...DEFINITIONS.keys()].filter((name) => !RECORDS.has(name)).join(', ')
  throw new UsageError(`COLLECTION must be one of ${known}, not '${collection}'`)
}

async function send(
  shell: Shell,
  texts: AsyncGenerator<string>,
  output: string | undefined,
): Promise<void> {
  if (output === undefined) {
    await shell.printAll(texts)
    return
  }
  const unfinished = `${output}.part`
  const progress = new Progress(shell, 'KB')
  try {
    await pipeline(Readable.from(counted(texts, progress)), createWriteStream(unfinished))
    await rename(unfinished, output)
  } catch (error) {
    await rm(unfinished, { force: true })
    if (!(error instanceof Error && 'syscall' in error)) throw error
    throw new CommandError(`cannot write ${output}: ${error.message}`, { cause: error })
  } finally {
    progress.end()
  }
}

async function* counted(texts: AsyncIterable<string>, progress: Progress): AsyncGenerator<string> {
  let characters = 0
  for await (const text of texts) {
    yield text
    characters += text.length
    progress.show(Math.round(characters / 1000))
  }
}
