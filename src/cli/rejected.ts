/** `tollgate rejected list`, `resubmit`, `drop`: usage records that could not be charged. */
import type { IntakeRejectedDocument } from '../catalog/records/usage/intake-documents.ts'
import { dropRecord, listRejected, problemText, type Resubmission } from '../intake/rejected.ts'
import { CommandError, UsageError } from './errors.ts'
import { withIntake } from './intake.ts'
import { operator } from './operator.ts'
import { type OptionValues, optionalNumber, optionalText } from './options.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

const STATES: readonly IntakeRejectedDocument['state'][] = [
  'waiting',
  'submitted',
  'corrected',
  'dropped',
]
const LIMIT = 100

export async function list(shell: Shell, options: OptionValues): Promise<0> {
  const id = optionalText(options, 'id')
  const given = optionalText(options, 'state') ?? (id === undefined ? 'waiting' : undefined)
  const state = STATES.find((one) => one === given)
  if (state === undefined && given !== undefined) {
    throw new UsageError(`--state must be ${STATES.join(', ')}, not '${given}'`)
  }
  const textOf = (name: string) => optionalText(options, name)
  const more = { file: textOf('file'), file_type: textOf('file-type'), reason: textOf('reason') }
  const query = { id, state, ...more }
  const range = { skip: 0, limit: optionalNumber(options, 'limit') ?? LIMIT }
  const records = await withCatalog(shell.config(), (catalog) =>
    listRejected(catalog, query, range),
  )
  if (options['json'] === true) shell.print(JSON.stringify(records.map(rejectedJson)))
  else if (records.length === 0) shell.print('no rejected records')
  else for (const record of records) for (const line of linesOf(record)) shell.print(line)
  return 0
}

function rejectedJson({ _id: id, ...record }: IntakeRejectedDocument) {
  return { id, ...record }
}

function linesOf({ _id, file_name, line, field, reason, text }: IntakeRejectedDocument): string[] {
  return [`${_id}  ${file_name} line ${line}: ${problemText(field, reason)}`, `  ${text}`]
}

const SENTENCES: Readonly<Record<Resubmission['state'], string>> = {
  charged: 'charged',
  duplicate: 'was charged before',
  filtered: 'is not to be charged',
  rejected: 'rejected again',
  unknown: 'no rejected record with this id waits',
}

/** Returns 1 if the record is rejected again. */
export async function resubmit(shell: Shell, id: string, options: OptionValues): Promise<0 | 1> {
  const text = optionalText(options, 'text') ?? null
  const { state, reason } = await withIntake(shell, (intake) =>
    intake.resubmit(id, text, operator()),
  )
  if (state === 'unknown') throw new CommandError(SENTENCES.unknown)
  if (options['json'] === true) shell.print(JSON.stringify({ id, state, reason }))
  else shell.print(reason === '' ? SENTENCES[state] : `${SENTENCES[state]}: ${reason}`)
  return state === 'rejected' ? 1 : 0
}

export async function drop(shell: Shell, id: string): Promise<0> {
  const isDropped = await withCatalog(shell.config(), (catalog, clock) =>
    dropRecord(catalog, id, operator(), clock.nowMs()),
  )
  if (!isDropped) throw new CommandError(SENTENCES.unknown)
  shell.print('dropped')
  return 0
}
