/** `filetypecheck`: how a file type reads a message, step by step. */

import { Type } from '@sinclair/typebox'
import {
  anyValue,
  closed,
  customFields,
  either,
  flag,
  listOf,
  mapOf,
  orNull,
  ref,
  text,
} from '../../catalog/entities/json-schema.ts'
import { readCategory } from '../../catalog/settings/stored-config.ts'
import { missing } from '../../domain/field-errors.ts'
import { type Fields, isObject } from '../../domain/fields.ts'
import type { CheckFileType } from '../../file-types/check-report.ts'
import { fileTypeDefaultsOf } from '../../file-types/defaults.ts'
import {
  fileTypeOrProblem,
  installedFileTypes,
  nameOfFileType,
} from '../../file-types/installed.ts'
import { expectationOf, runSamples, samplesIn } from '../../file-types/samples.ts'
import {
  ActionError,
  InvalidFieldsError,
  NotAllowedError,
  parameterError,
  RequestError,
} from '../../requests/errors.ts'
import { type ActionCall, action } from './action.ts'
import { rateMessage } from './filetype-rating.ts'
import { param } from './parameters.ts'
import { quote } from './quote.ts'

const BYTES_MAX = 65_536
const BASE64_MAX = Math.ceil(BYTES_MAX / 3) * 4
/** Limits of the document: each of its rules may be tried on each service of the message. */
const DOCUMENT_CHARS_MAX = 65_536
const BASE64 = /^[A-Za-z0-9+/]*={0,2}$/
const DOCUMENT = {
  file_type: 'GY',
  parser: { type: 'json' },
  processor: { usaget_mapping: [{ usaget: 'data', volume_src: ['asked'] }] },
}

const REPORT = closed('The report on a message.', {
  ok: flag('Whether the message is a valid request, charged or filtered.'),
  steps: listOf(
    closed('A step.', {
      step: text(
        'Such as `document`, `message`, `services.0`, `rating`, `answer if granted`; with ' +
          '`rate` also `found subscriber`, `price` and `answer`.',
      ),
      ok: flag('Whether it succeeds.'),
      result: anyValue(
        'Its result. Of a message that is not a valid request: `field`, `why`, and `offset`, ' +
          'the place of the first wrong byte, null if no byte is wrong.',
      ),
    }),
    'The steps up to the first error.',
  ),
  expect: orNull(
    closed(
      'What the check says.',
      {
        request: customFields('The charge request; absent if the message is wrong.'),
        error: closed('What is wrong.', { field: text('Place.'), why: text('Reason.') }),
        answers: mapOf(text('The answer.'), 'By kind, such as `answer if granted`.'),
      },
      ['request', 'error'],
    ),
    'What a sample of this message would expect; null if the document is unusable.',
  ),
})

export const filetypecheck = action({
  name: 'filetypecheck',
  paths: ['/api/filetype/check'],
  level: 'read',
  about: 'Show step by step how a file type reads a message, and charge nothing',
  notEchoed: ['document', 'message', 'message_base64'],
  parameters: Type.Object({
    file_type: param.optional(param.text('Name of an installed file type.', { maxLength: 64 })),
    document: param.optional(param.object('Or the document of a file type.')),
    message: param.optional(
      param.text(`The message, at most ${BYTES_MAX} bytes.`, { maxLength: BYTES_MAX }),
    ),
    message_base64: param.optional(
      param.text('Or the message in base 64, if it may not be UTF-8.', { maxLength: BASE64_MAX }),
    ),
    rate: param.optional(
      param.flag(
        'Also find the subscriber and price what the message requests, as `/api/quote` does; ' +
          'needs its permission. An update or release is not rated: its session has the prices.',
      ),
    ),
    samples: param.optional(
      param.flag(
        'In place of a message: check all samples of the file type; of a document without ' +
          '`samples`, those that are stored for its name.',
      ),
    ),
  }),
  answer: {
    details: either(
      'The report.',
      REPORT,
      closed('The report on samples.', {
        ok: flag('Whether all are as expected.'),
        samples: listOf(
          closed('A sample.', {
            name: text('Its name.'),
            ok: flag('Whether the check says what is expected.'),
            differences: listOf(
              closed('A difference.', {
                field: text('Dotted path in `expect`.'),
                expected: ref('comparedValue', 'The expected value; null for nothing.'),
                actual: ref('comparedValue', 'What the check says; null for nothing.'),
              }),
              'The differences.',
            ),
          }),
          'In the order of the document.',
        ),
      }),
    ),
  },
  example: {
    parameters: { document: DOCUMENT, message: '{"type":' },
    answer: {
      details: {
        ok: false,
        expect: { error: { field: 'body', why: 'is not JSON' }, answers: { answer: '{}' } },
        steps: [
          { step: 'document', ok: true, result: { file_type: 'GY' } },
          {
            step: 'message',
            ok: false,
            result: { field: 'body', why: 'is not JSON', offset: 8 },
          },
        ],
      },
    },
  },
  async run({ document: given, samples, ...parameters }, call) {
    const { checkFileType: check, config } = call
    if (check === undefined) throw new RequestError(503, 'this server has no formats of charging')
    const { file_type: name, message, message_base64: base64, rate } = parameters
    requireOne({ file_type: name, document: given })
    if (given !== undefined) refuseLong(given)
    if (samples === true) {
      refuseOther({ message, message_base64: base64, rate })
      return { details: await checkSamples(check, { name, document: given }, call) }
    }
    const body = bytesOf(message, base64)
    const document = given ?? (await installedDocument(name ?? '', call))
    if (rate === true) await refuseQuote(call)
    const report = await check(document, body, config, {
      ...(rate === true && { rate: await rateMessage(call) }),
    })
    return {
      details: { ...report, expect: await expectationOf(check, { document, body }, config) },
    }
  },
})

async function checkSamples(
  check: CheckFileType,
  {
    name,
    document: given,
  }: { readonly name: string | undefined; readonly document: Fields | undefined },
  call: ActionCall,
) {
  const { config } = call
  const document = given ?? (await installedDocument(name ?? '', call))
  const { problem } = fileTypeOrProblem(document, fileTypeDefaultsOf(config))
  if (problem !== null) throw new InvalidFieldsError([problem])
  const samples = samplesIn(await withSamples(document, call), 'samples')
  const results = await runSamples(check, { document, samples }, config)
  return { ok: results.every(({ ok }) => ok), samples: results }
}

/** The document itself, or if it has no samples, the installed one of its name. */
async function withSamples(document: unknown, { catalog, config }: ActionCall): Promise<unknown> {
  if (isObject(document) && document['samples'] !== undefined) return document
  const { value } = await readCategory(catalog, 'file_types')
  const installed = installedFileTypes(value ?? [], fileTypeDefaultsOf(config))
  return installed.find(({ name }) => name === nameOfFileType(document))?.document
}

/** Samples have a limit of their own. */
function refuseLong({ samples: _, ...document }: Fields): void {
  if (JSON.stringify(document).length <= DOCUMENT_CHARS_MAX) return
  throw parameterError('document', `has more than ${DOCUMENT_CHARS_MAX} characters`)
}

function refuseOther(parameters: Fields): void {
  const other = Object.keys(parameters).find((name) => parameters[name] !== undefined)
  if (other !== undefined) throw parameterError(other, 'cannot be combined with samples')
}

/** Throws `NotAllowedError` if the caller may not see prices of a subscriber. */
async function refuseQuote({ permits }: ActionCall): Promise<void> {
  if (await permits({ collection: 'api', name: quote.name, usual: quote.access })) return
  throw new NotAllowedError('No permission: you may not quote, and so not rate a message')
}

function bytesOf(message: string | undefined, base64: string | undefined): Buffer {
  requireOne({ message, message_base64: base64 })
  if (base64 !== undefined && !BASE64.test(base64)) {
    throw parameterError('message_base64', 'must be base 64')
  }
  const bytes = Buffer.from(message ?? base64 ?? '', message === undefined ? 'base64' : 'utf8')
  if (bytes.length <= BYTES_MAX) return bytes
  throw parameterError('message', `has more than ${BYTES_MAX} bytes`)
}

function requireOne(values: Readonly<Record<string, unknown>>): void {
  const names = Object.keys(values)
  const [one, other] = names.filter((name) => values[name] !== undefined)
  if (one === undefined) {
    const text = `Following field/s are missing: ${names.join(' or ')}`
    throw new ActionError(text, missing(names, text))
  }
  if (other !== undefined) throw parameterError(one, `cannot be combined with ${other}`)
}

async function installedDocument(requested: string, { catalog, config }: ActionCall) {
  const { value } = await readCategory(catalog, 'file_types')
  const installed = installedFileTypes(value ?? [], fileTypeDefaultsOf(config))
  const found = installed.find(({ name }) => name === requested)
  if (found !== undefined) return found.document
  throw parameterError('file_type', `names no installed file type: ${requested}`)
}
