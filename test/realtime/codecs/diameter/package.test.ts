import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { describe, expect, it } from 'vitest'
import type { AvpEntry } from '../../../../src/realtime/codecs/diameter/avp-entry.ts'
import { wireExamples } from '../../../support/realtime/wire-examples.ts'

/** The codec of the third-party package `diameter`. */
interface PackageCodec {
  encodeMessage(message: unknown): Buffer
  decodeMessage(bytes: Buffer): { body: unknown }
}

interface Extraction {
  DICTIONARY_FILE: string
  extractDictionary(): string
}

describe('the dictionary of the product', () => {
  it('equals that of the package, which only builds and tests need', async () => {
    const root = new URL('../../../../', import.meta.url)
    const script = new URL('scripts/diameter-dictionary.mjs', root).href
    const { DICTIONARY_FILE, extractDictionary }: Extraction = await import(script)
    expect(readFileSync(new URL(DICTIONARY_FILE, root), 'utf8')).toBe(extractDictionary())
    const entries: AvpEntry[] = JSON.parse(extractDictionary())
    const { avps } = createRequire(import.meta.url)('diameter/dictionary.json')
    expect(entries).toHaveLength(avps.length)
    expect(avps).toMatchObject(entries)
  })
})

describe('an answer in the shape of the package diameter', () => {
  it('is a message with the same AVPs for that package', () => {
    const load = createRequire(import.meta.url)
    const packaged = load('diameter/lib/diameter-codec.js') as PackageCodec
    const { response = '' } = wireExamples().get('diameter-pairs') ?? {}
    const answer = JSON.parse(response)
    const { body } = packaged.decodeMessage(packaged.encodeMessage(answer))
    expect(body).toEqual(answer.body)
  })
})
