import { expect, it } from 'vitest'
import { compileKeyValueSyntax } from '../../src/file-types/key-value-syntax.ts'

it.each([
  [{}, 'percent'],
  [{ pair_separator: '&', value_separator: '=' }, 'percent'],
  [{ pair_separator: ';' }, 'none'],
  [{ value_separator: ':' }, 'none'],
  [{ pair_separator: '\n' }, 'none'],
  [{ pair_separator: ';', quoting: 'percent' }, 'percent'],
  [{ pair_separator: ';', quoting: 'quotes' }, 'quotes'],
  [{ quoting: 'none' }, 'none'],
])('the quoting for the separators %j is %s', (section, quoting) => {
  expect(compileKeyValueSyntax(section, 'parser').quoting).toBe(quoting)
})
