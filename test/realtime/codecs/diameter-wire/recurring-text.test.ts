import { describe, expect, it } from 'vitest'
import { RecurringText } from '../../../../src/realtime/codecs/diameter-wire/route.ts'

describe('a recurring text', () => {
  it('is decoded as if it were the first one', () => {
    const text = new RecurringText()
    const all = ['', 'pgw1', 'pgw1', 'pgw2', 'é', [0xe9], [0xe9], 'pgw1', [0xff, 0x61], 'ÿa']
    for (const one of all) {
      const bytes = Buffer.concat([Buffer.from('ab'), Buffer.from(one as string), Buffer.from('c')])
      const to = bytes.length - 1
      expect(text.read(bytes, 2, to)).toBe(bytes.toString('utf8', 2, to))
    }
  })
})
