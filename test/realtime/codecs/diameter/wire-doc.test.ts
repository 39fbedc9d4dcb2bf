import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { wireExamples } from '../../wire-examples.ts'
import { builtIn, context, dialectOf } from './file-type.ts'

const codec = dialectOf(builtIn())
const examples = [...wireExamples('wire-diameter.md')]

describe('Diameter as JSON in the documentation', () => {
  it('has the examples that the tests expect', () => {
    const names = ['start', 'codes', 'pairs', 'sms', 'denied', 'missing', 'value']
    expect(examples.map(([name]) => name)).toEqual(names.map((name) => `diameter-${name}`))
  })

  it.each(examples)('%s: the response, byte for byte', (_name, { request, outcome, response }) => {
    const decoded = codec.decode(Buffer.from(request ?? ''), context)
    if (decoded.ok) {
      expect(outcome).toBeDefined()
      expect(codec.encode(decoded.envelope, outcome!)).toBe(response)
    } else {
      expect(outcome).toBeUndefined()
      expect(codec.encodeError(decoded.error)).toBe(response)
    }
    expect(() => JSON.parse(response ?? '')).not.toThrow()
  })
})

/** The codec of the package `diameter`, which others wrote. */
interface PackageCodec {
  encodeMessage(message: unknown): Buffer
  decodeMessage(bytes: Buffer): { body: unknown }
}

describe('an answer in the shape of the package diameter', () => {
  it('is a message to that package, with the same AVPs', () => {
    const load = createRequire(import.meta.url)
    const packaged = load('diameter/lib/diameter-codec.js') as PackageCodec
    const { response = '' } = wireExamples('wire-diameter.md').get('diameter-pairs') ?? {}
    const answer = JSON.parse(response)
    const { body } = packaged.decodeMessage(packaged.encodeMessage(answer))
    expect(body).toEqual(answer.body)
  })
})
