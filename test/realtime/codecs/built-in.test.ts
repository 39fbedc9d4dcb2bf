import { createHash } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { builtInFileTypes } from '../../../src/file-types/built-in.ts'
import { compileFileType } from '../../../src/file-types/compile.ts'
import { codecOf } from '../../../src/realtime/codecs/codec-of.ts'
import { settings } from '../../support/file-types/answers.ts'
import { DECODE_CONTEXT, jsonCodec } from '../../support/realtime/codecs/settings.ts'
import { examplesOf, wireExamples } from '../../support/realtime/wire-examples.ts'

/** The message format of a built-in file type. */
function builtIn(name: string) {
  const rules = { rateCalculators: {}, customerIdentification: {} }
  const defaults = {
    answers: settings,
    timeZone: 'UTC',
    countryPrefix: '',
    recordAgeMonthsMax: 3,
    rules,
  }
  return codecOf(compileFileType(builtInFileTypes().get(name), defaults))
}

const formats = { keyvalue: builtIn('keyvalue'), xml: builtIn('xml') }

describe('the built-in file types', () => {
  const messages = examplesOf('json')
    .filter(([, { outcome, request }]) => outcome !== undefined && request !== undefined)
    .map(([name, { request = '' }]) => [name, JSON.parse(request)] as const)

  /** The key-value pairs of a JSON message. */
  function pairsOf(value: unknown, key = ''): string[] {
    if (typeof value !== 'object' || value === null) {
      return [`${key}=${encodeURIComponent(String(value))}`]
    }
    return Object.entries(value).flatMap(([name, member]) =>
      pairsOf(member, key === '' ? name : `${key}.${name}`),
    )
  }

  function elementsOf(name: string, value: unknown): string {
    if (Array.isArray(value)) return value.map((member) => elementsOf(name, member)).join('')
    if (typeof value !== 'object' || value === null) return `<${name}>${value}</${name}>`
    const content = Object.entries(value).map(([key, member]) => elementsOf(key, member))
    return `<${name}>${content.join('')}</${name}>`
  }

  it.each(messages)('decode %s of docs/WIRE.md to the same request', (_name, message) => {
    const plain = jsonCodec.decode(Buffer.from(JSON.stringify(message)), DECODE_CONTEXT)
    if (!plain.ok) throw new Error(plain.error.why)
    const texts = { keyvalue: pairsOf(message).join('&'), xml: elementsOf('request', message) }
    for (const name of ['keyvalue', 'xml'] as const) {
      const decoded = formats[name].decode(Buffer.from(texts[name]), DECODE_CONTEXT)
      const origin = `test/${name}`
      // Without a number the bytes identify a request, and these differ.
      const isNumbered = plain.request.requestNumber >= 0
      const stamp = isNumbered ? '' : createHash('sha256').update(texts[name]).digest('hex')
      expect(decoded).toMatchObject({ ok: true, request: { ...plain.request, origin, stamp } })
    }
  })

  const { request: asked = '', outcome } = wireExamples().get('cost') ?? {}

  it('return the cost to clients that request it', () => {
    const answersTo = (message: unknown) => {
      const texts = { keyvalue: pairsOf(message).join('&'), xml: elementsOf('request', message) }
      return (['keyvalue', 'xml'] as const).map((name) => {
        const decoded = formats[name].decode(Buffer.from(texts[name]), DECODE_CONTEXT)
        return decoded.ok && outcome !== undefined
          ? formats[name].encode(decoded.envelope, outcome)
          : ''
      })
    }
    const [pairs, document] = answersTo(JSON.parse(asked))
    for (const part of ['&cost=1.85&', '&services.0.cost=1.6&', '&services.1.cost=0.25&']) {
      expect(pairs).toContain(part)
    }
    expect(document?.match(/<cost>[0-9.]+/g)).toEqual(['<cost>1.85', '<cost>1.6', '<cost>0.25'])
    const others = answersTo({ ...JSON.parse(asked), cost: false })
    expect(others.filter((text) => text === '' || text.includes('cost'))).toEqual([])
  })
})
