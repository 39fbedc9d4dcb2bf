import { expect, it } from 'vitest'
import { wordsOf } from '../../src/file-types/words.ts'

it('words of a document are all possible field names, in keys and texts, and money', () => {
  const document: Record<string, unknown> = {
    'a.key': ['list[kind=x].0.last', { deep: 'uf.Two-Parts and 10415:1016' }],
    number: 5,
    none: null,
  }
  document['self'] = document
  expect([...wordsOf([document, ['other']])].sort()).toEqual(
    [
      'a',
      'key',
      'list',
      'kind',
      'x',
      '0',
      'last',
      'deep',
      'uf',
      'Two-Parts',
      'and',
      '10415:1016',
      'number',
      'none',
      'self',
      'other',
      // The fields of an amount of money.
      'Unit-Value',
      'Value-Digits',
      'Exponent',
    ].sort(),
  )
})
