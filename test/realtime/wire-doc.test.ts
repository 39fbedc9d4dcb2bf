import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { serviceRequest } from '../../src/domain/charge-request.ts'
import { builtInFileTypes } from '../../src/file-types/built-in.ts'
import { compileFileType } from '../../src/file-types/compile.ts'
import type { Codec } from '../../src/realtime/codecs/codec.ts'
import { codecOf } from '../../src/realtime/codecs/codec-of.ts'
import { createJsonCodec } from '../../src/realtime/codecs/json/codec.ts'
import { ANSWERS, DECODE_CONTEXT, jsonCodec } from '../support/realtime/codecs/settings.ts'
import {
  examplesOf,
  formatOfExample,
  type WireFormat,
  wireExamples,
} from '../support/realtime/wire-examples.ts'

const service = serviceRequest({ usaget: 'data' })
/** The settings described with the example `redirect`. */
const redirectCodec = createJsonCodec({
  ...ANSWERS,
  quotaHoldingMs: 600_000,
  thresholdPercent: 20,
  finalUnit: { action: 'redirect', addressType: 'url', address: 'https://shop.example.net/top-up' },
})

/** The message format of a built-in file type. */
function builtIn(name: string): Codec<unknown> {
  const rules = { rateCalculators: {}, customerIdentification: {} }
  const defaults = {
    answers: ANSWERS,
    timeZone: 'UTC',
    countryPrefix: '972',
    recordAgeMonthsMax: 3,
    rules,
  }
  return codecOf(compileFileType(builtInFileTypes().get(name), defaults))
}

const formats: Readonly<Record<WireFormat, Codec<unknown>>> = {
  json: jsonCodec,
  keyvalue: builtIn('keyvalue'),
  xml: builtIn('xml'),
  diameter: builtIn('diameter'),
}
const names: Readonly<Record<WireFormat, string>> = {
  json:
    'start update release services cost redirect actions late event refund refund-money pretend ' +
    'denied failed fraction no-session other-type not-json',
  keyvalue: 'kv-start kv-services kv-gap',
  xml: 'xml-start xml-services xml-doctype',
  diameter:
    'diameter-start diameter-codes diameter-pairs diameter-sms diameter-denied ' +
    'diameter-missing diameter-value',
}
const all = Object.keys(names) as WireFormat[]
const examples = all.flatMap((format) => examplesOf(format))

describe('docs/WIRE.md', () => {
  it.each(all)('has the examples of %s that the tests expect', (format) => {
    expect(examplesOf(format).map(([name]) => name)).toEqual(names[format].split(' '))
  })

  it.each(examples)('%s: the response, byte for byte', (name, { request, outcome, response }) => {
    const format = formatOfExample(name)
    const codec = name === 'redirect' ? redirectCodec : formats[format]
    const decoded = codec.decode(Buffer.from(request ?? ''), DECODE_CONTEXT)
    if (decoded.ok) {
      expect(outcome).toBeDefined()
      expect(codec.encode(decoded.envelope, outcome!)).toBe(response)
    } else {
      expect(outcome).toBeUndefined()
      expect(codec.encodeError(decoded.error)).toBe(response)
    }
    if (format === 'json' || format === 'diameter') {
      expect(() => JSON.parse(response ?? '')).not.toThrow()
    }
  })

  it('has every heading in its contents', () => {
    const text = readFileSync(new URL('../../docs/WIRE.md', import.meta.url), 'utf8')
    const headings = [...text.matchAll(/^###? (.*)$/gm)].map(([, title]) => title)
    const contents = [...text.matchAll(/^ *- \[(.*)\]\(#(.*)\)$/gm)]
    expect(contents.map(([, title]) => title)).toEqual(
      headings.filter((title) => title !== 'Contents'),
    )
    for (const [, title = '', anchor] of contents) {
      expect(anchor).toBe(
        title
          .toLowerCase()
          .replaceAll(/[^\w -]/g, '')
          .replaceAll(' ', '-'),
      )
    }
  })

  it('has a session start that decodes to this request', () => {
    const decoded = jsonCodec.decode(
      Buffer.from(wireExamples().get('start')?.request ?? ''),
      DECODE_CONTEXT,
    )
    expect(decoded).toMatchObject({
      ok: true,
      request: {
        kind: 'start',
        origin: 'test',
        sessionId: 'pgw1;1789000000;7',
        requestNumber: 0,
        subscriberKey: 'msisdn',
        subscriberValue: '972501234567',
        eventTimeMs: Date.UTC(2026, 10, 21, 10),
        eventTimeGiven: true,
        services: [{ ...service, ratingGroup: 10, requested: 10_485_760 }],
        wantBalances: true,
        pretend: false,
        refund: false,
        fields: null,
      },
    })
  })

  it('has several services that decode to this list', () => {
    const request = wireExamples().get('services')?.request ?? ''
    const decoded = jsonCodec.decode(Buffer.from(request), DECODE_CONTEXT)
    expect(decoded.ok && decoded.request.services).toEqual([
      { ...service, ratingGroup: 10, requested: 5_242_880, used: 1_048_576 },
      { ...service, ratingGroup: 20, requested: 5_242_880, used: 2_097_152 },
      { ...service, usaget: 'call', requested: -1, used: 60, calledNumber: '+44201234567' },
    ])
  })
})
