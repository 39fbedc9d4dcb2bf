import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { wireExamples } from '../../wire-examples.ts'

/** The codec of the package `diameter`, which others wrote. */
interface PackageCodec {
  encodeMessage(message: unknown): Buffer
  decodeMessage(bytes: Buffer): { body: unknown }
}

describe('an answer in the shape of the package diameter', () => {
  it('is a message to that package, with the same AVPs', () => {
    const load = createRequire(import.meta.url)
    const packaged = load('diameter/lib/diameter-codec.js') as PackageCodec
    const { response = '' } = wireExamples().get('diameter-pairs') ?? {}
    const answer = JSON.parse(response)
    const { body } = packaged.decodeMessage(packaged.encodeMessage(answer))
    expect(body).toEqual(answer.body)
  })
})
