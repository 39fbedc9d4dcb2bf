import { expect, it } from 'vitest'
import { crc32Hex } from '../../../src/catalog/clients/crc32.ts'

it.each([
  ['00112233445566778899aabbccddeeff', '90482470'],
  ['123456789', 'cbf43926'],
  ['', '00000000'],
  ['ü', '63d969d5'],
])('the CRC-32 of %j is %s', (text, crc) => {
  expect(crc32Hex(text)).toBe(crc)
})
