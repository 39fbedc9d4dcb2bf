import { expect, it } from 'vitest'
import { formatDate, isDateFormat } from '../../src/domain/date-format.ts'

const AT_MS = Date.UTC(2026, 1, 28, 22, 7, 9)

it.each([
  ['YYYY-MM-DD', '2026-03-01'],
  ['YYYY-MM-DD HH:MM:SS', '2026-03-01 00:07:09'],
  ['YYYY-MM-DDTHH:MM:SS', '2026-03-01T00:07:09'],
  ['Y-m-d', '2026-03-01'],
  ['Y-m-d H:i:s', '2026-03-01 00:07:09'],
  ['d/m/Y', '01/03/2026'],
])('%s is %s in local time', (format, text) => {
  expect(isDateFormat(format)).toBe(true)
  expect(formatDate(format, AT_MS, 'Asia/Jerusalem')).toBe(text)
})

it.each(['', 'x', 'HH:MM', 'YYYY', 'YYYY-MM-DD z', 'Y'])('%j is no format', (format) => {
  expect(isDateFormat(format)).toBe(false)
})
