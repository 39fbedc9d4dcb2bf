import { describe, expect, it } from 'vitest'
import { createSealer } from '../../src/catalog/sealing.ts'

const SECRET = '00112233445566778899aabbccddeeff — ü'
const sealer = createSealer('a key of the operator')
const plain = createSealer('')

describe('a sealed secret', () => {
  it('is opened with the same key, by another process too, and differs each time', () => {
    const first = sealer.seal(SECRET)
    const second = sealer.seal(SECRET)
    expect(first).toMatch(/^v1:[\w-]+$/)
    expect(first).not.toBe(second)
    expect(first).not.toContain('0011')
    expect(createSealer('a key of the operator').open(first)).toBe(SECRET)
    expect(sealer.open(sealer.seal(''))).toBe('')
  })

  it('is not opened with another key, or without one', () => {
    const sealed = sealer.seal(SECRET)
    expect(createSealer('another key').open(sealed)).toBeNull()
    expect(plain.open(sealed)).toBeNull()
  })

  it('is not opened when a bit of it was changed, or when it was cut', () => {
    const sealed = sealer.seal(SECRET)
    const bytes = Buffer.from(sealed.slice(3), 'base64url')
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(sealer.open(`v1:${changed.toString('base64url')}`)).toBeNull()
      expect(sealer.open(`v1:${bytes.subarray(0, index).toString('base64url')}`)).toBeNull()
    }
  })

  it('is none where it is no text of ours', () => {
    for (const text of ['', 'v1:', 'v2:abc', 'secret', 'v1:***', 'Plain:x']) {
      expect([sealer.open(text), plain.open(text)]).toEqual([null, null])
    }
  })
})

describe('without a key', () => {
  it('a secret is stored as it is, and is read when there is a key', () => {
    const stored = plain.seal(SECRET)
    expect(stored).toBe(`plain:${SECRET}`)
    expect([plain.open(stored), sealer.open(stored)]).toEqual([SECRET, SECRET])
  })
})
