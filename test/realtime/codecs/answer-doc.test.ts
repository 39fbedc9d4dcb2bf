import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { type ChargeOutcome, plainOutcome } from '../../../src/domain/charge-outcome.ts'
import { answerFields } from '../../../src/file-types/answer-fields.ts'
import { compileFileType } from '../../../src/file-types/compile.ts'
import type { Codec } from '../../../src/realtime/codecs/codec.ts'
import { codecOf } from '../../../src/realtime/codecs/codec-of.ts'
import { settings } from '../../support/file-types/answers.ts'
import { DECODE_CONTEXT } from '../../support/realtime/codecs/settings.ts'
import { wireExamples } from '../../support/realtime/wire-examples.ts'

const FILE = 'FILE-TYPES.md'
const examples = wireExamples(FILE)

/** The message format of a document, by the name of its example or of those with that prefix. */
function codecFor(name: string): Codec<unknown> {
  return codecOfDocument(examples.get(name.split('-')[0] ?? '')?.document)
}

function codecOfDocument(text = ''): Codec<unknown> {
  const rules = { rateCalculators: {}, customerIdentification: {} }
  const defaults = {
    answers: settings,
    timeZone: 'UTC',
    countryPrefix: '',
    recordAgeMonthsMax: 3,
    rules,
  }
  return codecOf(compileFileType(parse(text), defaults))
}

function answered(codec: Codec<unknown>, request: string, outcome?: ChargeOutcome): string {
  const decoded = codec.decode(Buffer.from(request), DECODE_CONTEXT)
  if (!decoded.ok) return codec.encodeError(decoded.error)
  return codec.encode(decoded.envelope, outcome ?? plainOutcome('granted'))
}

describe(`docs/${FILE}`, () => {
  it('has the examples that the tests expect', () => {
    const mapped = ['mapped', 'mapped-denied', 'mapped-failed', 'mapped-broken']
    const names = ['acme', ...mapped, 'conditions']
    expect([...examples.keys()]).toEqual(names)
  })

  it.each([...examples])('%s: the response, byte for byte', (name, example) => {
    const request = example.request ?? examples.get('mapped')?.request ?? ''
    expect(answered(codecFor(name), request, example.outcome)).toBe(example.response)
  })

  it('the same request and outcome produce the same bytes, whichever codec encodes them', () => {
    const { request = '', outcome, response } = examples.get('mapped')!
    const stored = JSON.parse(JSON.stringify(outcome)) as ChargeOutcome
    const codec = codecFor('mapped')
    expect(answered(codec, request, stored)).toBe(response)
    expect(answered(codec, request, stored)).toBe(response)
    expect(answered(codecFor('mapped'), request, stored)).toBe(response)
  })

  it('has every row field', () => {
    const text = readFileSync(new URL(`../../../docs/${FILE}`, import.meta.url), 'utf8')
    const missing = Object.keys(answerFields).filter((name) => !text.includes(`\`${name}\``))
    expect(missing).toEqual([])
  })
})

describe('docs/TUTORIAL.md', () => {
  it('has a file type that answers its message as shown', () => {
    const { document, request = '', outcome, response } = wireExamples('TUTORIAL.md').get('pgw')!
    expect(answered(codecOfDocument(document), request, outcome)).toBe(response)
    const read = (name: string) =>
      readFileSync(new URL(`../../../examples/${name}`, import.meta.url), 'utf8')
    expect(read('pgw.yaml').trimEnd()).toBe(document)
    expect(read('open.json').trimEnd()).toBe(request)
  })
})

describe('balances in answers', () => {
  const document = {
    file_type: 'B',
    parser: { type: 'json' },
    processor: { date_field: 't', usaget_mapping: [{ usaget: 'data', volume_src: ['v'] }] },
  }
  const realtime = { used_usagev_field: 'used', default_values: { default: 1 } }
  const message = { request_type: 2, session_id: 's', used: 1 }

  /** Whether the request asks for balances. */
  function areAsked(fileType: object, given: object): boolean {
    const rules = { rateCalculators: {}, customerIdentification: {} }
    const defaults = {
      answers: settings,
      timeZone: 'UTC',
      countryPrefix: '',
      recordAgeMonthsMax: 3,
      rules,
    }
    const codec = codecOf(compileFileType({ ...document, ...fileType }, defaults))
    const decoded = codec.decode(
      Buffer.from(JSON.stringify({ ...message, ...given })),
      DECODE_CONTEXT,
    )
    if (!decoded.ok || decoded.request === null) throw new Error('is not charged')
    return decoded.request.wantBalances
  }

  it('are requested by the field of the message, if there is one', () => {
    const fileType = { realtime: { ...realtime, balances_field: 'show' } }
    expect(areAsked(fileType, { show: true })).toBe(true)
    expect(areAsked(fileType, { show: false })).toBe(false)
    expect(areAsked(fileType, {})).toBe(false)
  })

  it('are always requested if answers contain them', () => {
    const fields = [{ response_field_name: 'b', row_field_name: 'balances' }]
    expect(areAsked({ realtime, response: { fields } }, {})).toBe(true)
    expect(areAsked({ realtime }, {})).toBe(false)
  })
})
