import { createCipheriv, randomBytes, scryptSync } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createSealer, keyIdOf, sealedWith } from '../../../src/catalog/sealing/sealing.ts'

const KEY = 'a key of the operator'
const SECRET = '00112233445566778899aabbccddeeff — ü'
const sealer = createSealer(KEY)

/** The result of `createSealer` with these keys, the first of which seals. */
function withKeys(seals: string | null, ...others: string[]) {
  const known = () => ({ seals, others })
  return createSealer({ available: known, current: () => seals ?? 'generated just now' })
}

describe('a sealed secret', () => {
  it('is opened with the same key, also by another process, and differs each time', () => {
    const first = sealer.seal(SECRET)
    const second = sealer.seal(SECRET)
    expect(first).toMatch(/^v2:[0-9a-f]{8}:[\w-]+$/)
    expect(sealedWith(first)).toBe(keyIdOf(KEY))
    expect(first).not.toBe(second)
    expect(first).not.toContain('0011')
    expect(createSealer(KEY).open(first)).toBe(SECRET)
    expect(sealer.open(sealer.seal(''))).toBe('')
  })

  it('is not opened with another key, or without one', () => {
    const sealed = sealer.seal(SECRET)
    expect(createSealer('another key').open(sealed)).toBeNull()
    expect(withKeys(null).open(sealed)).toBeNull()
  })

  it('is opened with an older key, and is not current then', () => {
    const sealed = sealer.seal(SECRET)
    const rotated = withKeys('a new key', 'one more', KEY)
    expect(rotated.open(sealed)).toBe(SECRET)
    expect([sealer.isCurrent(sealed), rotated.isCurrent(sealed)]).toEqual([true, false])
    expect(rotated.isCurrent(rotated.seal(SECRET))).toBe(true)
    expect(withKeys(null, KEY).isCurrent(sealed)).toBe(false)
    expect(sealer.open(rotated.seal(SECRET))).toBeNull()
  })

  it('is not opened if it was modified or truncated', () => {
    const sealed = sealer.seal(SECRET)
    const head = sealed.slice(0, 'v2:01234567:'.length)
    const bytes = Buffer.from(sealed.slice(head.length), 'base64url')
    for (let index = 0; index < bytes.length; index += 1) {
      const changed = Buffer.from(bytes)
      changed[index] = (changed[index] ?? 0) ^ 1
      expect(sealer.open(head + changed.toString('base64url'))).toBeNull()
      expect(sealer.open(head + bytes.subarray(0, index).toString('base64url'))).toBeNull()
    }
  })

  it('is null if the text is not a sealed secret', () => {
    for (const text of ['', 'v1:', 'v2:abc', 'v2:01234567:', 'secret', 'v1:***', 'Plain:x']) {
      expect([sealer.open(text), sealer.isCurrent(text)]).toEqual([null, false])
    }
  })
})

describe('a secret of an older version', () => {
  it('that is stored in plain text is read, and is not current', () => {
    const stored = `plain:${SECRET}`
    expect([withKeys(null).open(stored), sealer.open(stored)]).toEqual([SECRET, SECRET])
    expect(sealer.isCurrent(stored)).toBe(false)
  })

  it('without the id of its key is opened with any matching key', () => {
    const nonce = randomBytes(12)
    const key = scryptSync(KEY, 'tollgate secrets v1', 32)
    const cipher = createCipheriv('aes-256-gcm', key, nonce, { authTagLength: 16 })
    const hidden = Buffer.concat([cipher.update(SECRET, 'utf8'), cipher.final()])
    const bytes = Buffer.concat([nonce, cipher.getAuthTag(), hidden])
    const stored = `v1:${bytes.toString('base64url')}`
    expect([sealer.open(stored), withKeys('new', KEY).open(stored)]).toEqual([SECRET, SECRET])
    expect([withKeys('new').open(stored), sealer.isCurrent(stored)]).toEqual([null, false])
  })
})
