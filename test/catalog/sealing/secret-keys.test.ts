import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { keyFileIn, keyRingOf, sealerOf } from '../../../src/catalog/sealing/secret-keys.ts'
import { useFolderEach } from '../../support/opened.ts'

const dir = useFolderEach()

const settings = (key = '', oldKeys: string[] = [], folder = dir()) => ({
  data: { dir: folder },
  secrets: { key, oldKeys },
})

describe('without secrets.key', () => {
  it('a key is generated when it is first needed, readable only by its owner', () => {
    const folder = join(dir(), 'data')
    const sealer = sealerOf(settings('', [], folder))
    expect([sealer.open('v2:01234567:abc'), existsSync(folder)]).toEqual([null, false])
    const sealed = sealer.seal('secret')
    const path = keyFileIn(folder)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readFileSync(path, 'utf8')).toMatch(/^[\w-]{43}\n$/)
    expect(readdirSync(folder)).toEqual(['secrets.key'])
    const elsewhere = sealerOf(settings('', [], folder))
    expect([elsewhere.open(sealed), elsewhere.isCurrent(sealed)]).toEqual(['secret', true])
    expect(sealer.open(elsewhere.seal('other'))).toBe('other')
  })

  it('a key that another process generates later is read then', () => {
    const follower = sealerOf(settings())
    expect(follower.open('v2:01234567:abc')).toBeNull()
    expect(follower.open(sealerOf(settings()).seal('secret'))).toBe('secret')
  })

  it('an unusable file is reported, and never replaced', () => {
    writeFileSync(keyFileIn(dir()), 'short')
    const sealer = sealerOf(settings())
    expect(() => sealer.seal('x')).toThrow(/secrets\.key: is not a key of stored secrets/)
    expect(sealer.open('v2:01234567:abc')).toBeNull()
    expect(readFileSync(keyFileIn(dir()), 'utf8')).toBe('short')
  })

  it.runIf(process.getuid?.() !== 0)('a folder without write access is reported', () => {
    chmodSync(dir(), 0o500)
    expect(() => sealerOf(settings()).seal('x')).toThrow('(EACCES): set secrets.key')
    chmodSync(dir(), 0o700)
  })
})

describe('with secrets.key', () => {
  it('that key seals; older keys and the generated one can open', () => {
    const generated = sealerOf(settings()).seal('a')
    const old = sealerOf(settings('old')).seal('b')
    const sealer = sealerOf(settings('new', ['older', 'old']))
    expect([generated, old].map((each) => sealer.open(each))).toEqual(['a', 'b'])
    expect(sealer.isCurrent(old)).toBe(false)
    expect(keyRingOf(settings('new')).current()).toBe('new')
  })

  it('no key is generated', () => {
    sealerOf(settings('new')).seal('a')
    expect(readdirSync(dir())).toEqual([])
  })
})
