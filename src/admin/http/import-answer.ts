/** Import over HTTP: an uploaded file, or the progress of an import. */
import { about } from '../../domain/field-errors.ts'
import { contextOf, type EntityApi, type EntityCall } from '../../entities/api.ts'
import { type ImportRequest, importRows } from '../../entities/import/import-rows.ts'
import { readProgress } from '../../entities/import/progress.ts'
import { readSettings } from '../../entities/import/read-settings.ts'
import { importEnvelope } from '../../entities/import/result.ts'
import type { ImportSettings } from '../../entities/import/settings.ts'
import { writeView } from '../../entities/views.ts'
import { booleanOf } from '../../requests/cast-value.ts'
import { ExecutionError } from '../../requests/errors.ts'
import { compoundParameters } from '../../requests/json-text.ts'
import type { RawParameters } from '../../requests/raw-parameters.ts'
import type { RequestParameters } from './body.ts'

/**
 * Runs an import. It continues if the client disconnects; its progress can be read by its id.
 *
 * Tollgate extensions: `import_id` resumes an import, `progress=1` returns its progress, and
 * `dry_run=1` or `validate=1` writes nothing. Throws `ApiError`.
 */
export async function answerImport(
  { stores, batch }: Pick<EntityApi, 'stores' | 'batch'>,
  called: Pick<EntityCall, 'definition' | 'action' | 'caller'>,
  { values, files }: RequestParameters,
): Promise<object> {
  const importId = textAt(values, 'import_id')
  if (switchAt(values, 'progress')) {
    if (importId === '') throw new ExecutionError(...about('import_id', 'is missing', 'missing'))
    return { status: 1, details: writeView(await readProgress(stores, importId)) }
  }
  const [file] = files
  if (file === undefined)
    throw new ExecutionError('the file is missing: send it as files[0]', {
      path: 'files',
      code: 'missing',
    })
  const { fields } = await contextOf(batch, called)
  const settings = await settingsOf(batch, called, values)
  const isDryRun = switchAt(values, 'dry_run') || switchAt(values, 'validate')
  const request: ImportRequest = {
    actor: called.caller,
    definition: called.definition,
    fields,
    settings: isDryRun ? { ...settings, isDryRun: true } : settings,
    file: { path: file.path, name: file.fileName, contentType: file.contentType },
    importId: importId === '' ? null : importId,
  }
  return importEnvelope(await importRows(batch.stores, request))
}

async function settingsOf(
  api: EntityApi['batch'],
  called: Pick<EntityCall, 'definition'>,
  values: RawParameters,
): Promise<ImportSettings> {
  const { update = {} } = compoundParameters(values)
  return readSettings(api, called.definition, update, textAt(values, 'operation'))
}

/** Plain text or a JSON string: clients send both. */
function textAt(values: RawParameters, name: string): string {
  const value = values.get(name)
  if (typeof value !== 'string') return ''
  return /^"[^"\\]*"$/.test(value) ? value.slice(1, -1) : value
}

function switchAt(values: RawParameters, name: string): boolean {
  const value = values.get(name)
  if (value === undefined || value === null || value === '') return false
  const read = booleanOf(value)
  if (read !== null) return read
  throw new ExecutionError(...about(name, 'must be true or false'))
}
