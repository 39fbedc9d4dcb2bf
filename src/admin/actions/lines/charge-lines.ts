/** `lines`: charges usage records; `linesresubmit`, `linesdrop`: those that were rejected. */
import { Type } from '@sinclair/typebox'
import {
  choice,
  customFields,
  either,
  listOf,
  text,
} from '../../../catalog/entities/json-schema.ts'
import { isObject } from '../../../domain/fields.ts'
import { dropRecord } from '../../../intake/rejected.ts'
import { ActionError, parameterError, RequestError } from '../../../requests/errors.ts'
import { type ActionCall, action } from '../action.ts'
import { param } from '../parameters.ts'
import { CHARGED_RECORD } from './schemas.ts'

const RECORDS_MAX = 1_000
const RECORD_CHARS_MAX = 65_536
const BODY = { bytesMax: 4 * 1024 * 1024, json: { keysMax: 100_000 } } as const

type OpenIntake = Awaited<ReturnType<NonNullable<ActionCall['intake']>>>

const NONE_WAITS = 'no rejected record with this id waits'

export const lines = action({
  name: 'lines',
  level: 'write',
  about: 'Charge usage records, each once',
  notEchoed: ['records'],
  body: BODY,
  parameters: Type.Object({
    file_type: param.text('File type of the records (`type: usage`).', { maxLength: 64 }),
    records: param.list(
      either(
        'A record.',
        text('As in a file.', { maxLength: RECORD_CHARS_MAX }),
        customFields('In JSON, if the file type has its parser.'),
      ),
      `The records, at most ${RECORDS_MAX}.`,
    ),
  }),
  answer: {
    details: listOf(
      CHARGED_RECORD,
      'In the order of the records. A repetition gets `duplicate` as soon as the lines are ' +
        'recorded, and until then what the first call got.',
    ),
  },
  example: {
    parameters: { file_type: 'ROAMING', records: ['2026-11-01T10:00:00Z,972546918666,5'] },
    answer: {
      details: [{ state: 'rejected', stamp: '', reason: 'Subscriber not found' }],
    },
  },
  async run({ file_type: fileType, records }, call) {
    if (records.length > RECORDS_MAX) {
      throw parameterError('records', `must have at most ${RECORDS_MAX} members`)
    }
    const texts = records.map((one, index) => textOf(one, `records.${index}`))
    const refused = { path: 'file_type', code: 'unknown' } as const
    return { details: await withIntake(call, refused, (intake) => intake.charge(fileType, texts)) }
  },
})

function textOf(record: unknown, path: string): string {
  const written = isObject(record) ? JSON.stringify(record) : record
  if (typeof written !== 'string') throw parameterError(path, 'must be a text or an object')
  if (written.length <= RECORD_CHARS_MAX) return written
  throw parameterError(path, `has more than ${RECORD_CHARS_MAX} characters`)
}

/** `refused`: the parameter that names the file type, or the record that has one. */
async function withIntake<T>(
  { intake }: ActionCall,
  refused: { path: string; code: 'unknown' | 'refused' },
  act: (intake: OpenIntake) => Promise<T>,
): Promise<T> {
  if (intake === undefined) throw new RequestError(503, 'this server charges no usage records')
  try {
    return await act(await intake())
  } catch (error) {
    // By name: the intake is loaded when it is needed.
    const { name, message } = error instanceof Error ? error : { name: '', message: '' }
    if (name === 'RecordFileTypeError') throw new ActionError(message, refused)
    if (name === 'RecordsPostponedError' || name === 'UnrecordedEntryError') {
      throw new RequestError(503, `not all records were charged, repeat the request: ${message}`)
    }
    throw error
  }
}

export const linesresubmit = action({
  name: 'linesresubmit',
  paths: ['/api/lines/resubmit'],
  level: 'write',
  about: 'Charge a usage record that was rejected: corrected, or as it is',
  notEchoed: ['text'],
  parameters: Type.Object({
    id: param.text('Its id.'),
    text: param.optional(
      param.text('The corrected record; as it is by default, when something else was wrong.', {
        maxLength: RECORD_CHARS_MAX,
      }),
    ),
  }),
  answer: {
    state: choice(
      ['charged', 'duplicate', 'filtered', 'rejected'],
      '`rejected`: it waits on, with its new text and reason.',
    ),
    reason: text('Why it is rejected; empty otherwise.'),
  },
  example: {
    parameters: { id: 'dkJ1b0Yy5Zl2bW9kZWxzIQ:17' },
    answer: { state: 'charged', reason: '' },
  },
  async run({ id, text: corrected }, call) {
    const { actor } = call
    const { state, reason } = await withIntake(call, { path: 'id', code: 'refused' }, (intake) =>
      intake.resubmit(id, corrected ?? null, actor),
    )
    if (state === 'unknown') throw new ActionError(NONE_WAITS, { path: 'id', code: 'unknown' })
    return { state, reason }
  },
})

export const linesdrop = action({
  name: 'linesdrop',
  paths: ['/api/lines/drop'],
  level: 'write',
  about: 'Take a rejected usage record out of the queue; it is kept, and never charged',
  parameters: Type.Object({ id: param.text('Its id.') }),
  answer: {},
  example: { parameters: { id: 'dkJ1b0Yy5Zl2bW9kZWxzIQ:17' }, answer: {} },
  async run({ id }, { catalog, actor, nowMs }) {
    if (!(await dropRecord(catalog, id, actor, nowMs)))
      throw new ActionError(NONE_WAITS, { path: 'id', code: 'unknown' })
    return {}
  },
})
