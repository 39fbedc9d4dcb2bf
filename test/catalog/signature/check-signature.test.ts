import { describe, expect, it } from 'vitest'
import {
  checkSignature,
  type SignatureConditions,
  type Signer,
} from '../../../src/catalog/signature/check-signature.ts'
import { signatureOf, signedText } from '../../../src/catalog/signature/signed-text.ts'

const NOW_S = 1_700_000_000
const signer = (name: string): Signer => ({ name, key: `key of ${name}`, roles: ['read'] })
const [CRM, SHOP] = [signer('CRM'), signer('SHOP')]

/** The used signatures, with their retention times. */
function memory() {
  const used = new Map<string, number>()
  return {
    used,
    async setOnce(key: string, _value: string, ttlMs: number) {
      if (used.has(key)) return false
      used.set(key, ttlMs)
      return true
    },
  }
}

function terms(more: Partial<SignatureConditions> = {}): SignatureConditions {
  const when = { nowMs: NOW_S * 1000, windowMs: 300_000 }
  return { signers: [CRM, SHOP], workBytesMax: 10_000, ...when, ...more }
}

function signed(key: string, more: readonly (readonly [string, unknown])[] = [], name = '_sig_') {
  const sent = new Map<string, unknown>([['query', '{"aid":17}'], ['_t_', String(NOW_S)], ...more])
  return new Map([...sent, [name, signatureOf(signedText(sent), key)]])
}

describe('a signature', () => {
  it.each(['_sig_', 'signature'])(
    'as %s identifies its client, with any of its keys',
    async (name) => {
      const keys = memory()
      expect(await checkSignature(signed(CRM.key, [], name), terms(), keys)).toBe(CRM)
      expect(await checkSignature(signed(SHOP.key, [], name), terms(), keys)).toBe(SHOP)
    },
  )

  it('is accepted once, and remembered for as long as it could be accepted', async () => {
    const keys = memory()
    const sent = signed(CRM.key)
    expect(await checkSignature(sent, terms(), keys)).toBe(CRM)
    const again = { refused: expect.stringContaining('was used before') }
    expect(await checkSignature(sent, terms(), keys)).toEqual(again)
    // Under the other parameter name it is the same signature.
    const renamed = new Map([...sent].map(([k, v]) => [k === '_sig_' ? 'signature' : k, v]))
    expect(await checkSignature(renamed, terms(), keys)).toEqual(again)
    expect([...keys.used.values()]).toEqual([660_000])
    expect(JSON.stringify([...keys.used])).not.toContain(String(sent.get('_sig_')))
  })

  it('covers exactly what was signed: no value, order, name or time may change', async () => {
    const sent = [...signed(CRM.key, [['page', '1']])]
    const tampered: [string, unknown][][] = [
      sent.map(([name, value]) => [name, name === 'page' ? '2' : value]),
      sent.map(([name, value]) => [name, name === '_t_' ? String(NOW_S + 1) : value]),
      sent.map(([name, value]) => [name === 'page' ? 'size' : name, value]),
      sent.filter(([name]) => name !== 'page'),
      [...sent, ['update', '{}']],
      [sent[1]!, sent[0]!, ...sent.slice(2)],
      sent.map(([name, value]) => [name, name === 'page' ? 1 : value]),
      sent.map(([name, value]) => [name, name === 'page' ? new Map([['0', '1']]) : value]),
    ]
    const keys = memory()
    for (const each of tampered) {
      const found = await checkSignature(new Map(each), terms(), keys)
      expect(found).toEqual({ refused: '_sig_ does not match any known key' })
    }
    expect(keys.used.size).toBe(0)
    expect(await checkSignature(new Map(sent), terms(), keys)).toBe(CRM)
  })

  it('is refused if its client has no current key, without naming existing clients', async () => {
    for (const signers of [[], [SHOP]]) {
      const found = await checkSignature(signed(CRM.key), terms({ signers }), memory())
      expect(found).toEqual({ refused: '_sig_ does not match any known key' })
    }
  })

  it('is accepted within its time window, in both directions', async () => {
    for (const seconds of [-300, 300]) {
      const at = terms({ nowMs: (NOW_S + seconds) * 1000 })
      expect(await checkSignature(signed(CRM.key), at, memory())).toBe(CRM)
    }
    for (const ms of [-300_001, 300_001]) {
      const found = await checkSignature(
        signed(CRM.key),
        terms({ nowMs: NOW_S * 1000 + ms }),
        memory(),
      )
      expect(found).toEqual({ refused: expect.stringContaining('_t_ is more than 300 seconds') })
    }
  })

  it.each([
    ['', '_t_ must be'],
    ['now', '_t_ must be'],
    ['-1700000000', '_t_ must be'],
    ['1700000000.5', '_t_ must be'],
    ['1e9', '_t_ must be'],
    ['1'.repeat(400), '_t_ must be'],
    [new Map([['0', '1']]), '_t_ must be'],
    [null, '_t_ must be'],
    [undefined, '_t_ is missing'],
    ['17', '_t_ is more than'],
  ])('requires the time of its request: %s', async (time, text) => {
    const sent = new Map<string, unknown>([['a', '1']])
    if (time !== undefined) sent.set('_t_', time)
    sent.set('_sig_', signatureOf(signedText(sent), CRM.key))
    const found = await checkSignature(sent, terms(), memory())
    expect(found).toEqual({ refused: expect.stringContaining(text) })
  })

  it('can have its time as a number if the body is JSON', async () => {
    const sent = new Map<string, unknown>([['_t_', NOW_S]])
    sent.set('_sig_', signatureOf(`{"_t_":${NOW_S}}`, CRM.key))
    expect(await checkSignature(sent, terms(), memory())).toBe(CRM)
  })

  it.each(['', 'x', 'a'.repeat(127), 'A'.repeat(128), 'a'.repeat(129), ['a'], new Map(), null, 5])(
    'must be well-formed: %j',
    async (value) => {
      const sent = new Map<string, unknown>([...signed(CRM.key), ['_sig_', value]])
      const found = await checkSignature(sent, terms(), memory())
      expect(found).toEqual({ refused: expect.stringContaining('128 hexadecimal digits') })
    },
  )

  it('has a bounded verification cost, whoever sends it', async () => {
    const sent = signed(CRM.key, [['update', 'x'.repeat(6_000)]])
    expect(await checkSignature(sent, terms(), memory())).toEqual({
      refused: expect.stringContaining('too large to be signed'),
    })
    expect(await checkSignature(sent, terms({ signers: [CRM] }), memory())).toBe(CRM)
  })

  it('is refused if it cannot be remembered', async () => {
    const away = { setOnce: async () => Promise.reject(new Error('redis is away')) }
    await expect(checkSignature(signed(CRM.key), terms(), away)).rejects.toThrow('away')
  })
})
