import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import { DICTIONARY_FILE, extractDictionary } from '../../../../scripts/diameter-dictionary.mjs'
import type { AvpEntry } from '../../../../src/realtime/codecs/diameter/dictionary.ts'
import { wireExamples } from '../../wire-examples.ts'

/** The codec of the package `diameter`, which others wrote. */
interface PackageCodec {
  encodeMessage(message: unknown): Buffer
  decodeMessage(bytes: Buffer): { body: unknown }
}

describe('the dictionary of the product', () => {
  it('is the one of the package, which only building and testing need', () => {
    const file = new URL(`../../../../${DICTIONARY_FILE}`, import.meta.url)
    expect(readFileSync(file, 'utf8')).toBe(extractDictionary())
    const entries: AvpEntry[] = JSON.parse(extractDictionary())
    const { avps } = createRequire(import.meta.url)('diameter/dictionary.json')
    expect(entries).toHaveLength(avps.length)
    expect(avps).toMatchObject(entries)
  })
})

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
