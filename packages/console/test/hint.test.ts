import { expect, it } from 'vitest'
import { hintParts } from '../src/parts/hint.tsx'

it.each([
  ['Letters, `_` and `-`.', ['Letters, ', { code: '_' }, ' and ', { code: '-' }, '.']],
  ['`BASE`', [{ code: 'BASE' }]],
  ['one ` alone', ['one ` alone']],
  ['', []],
])('%j has its code apart', (text, parts) => expect(hintParts(text)).toEqual(parts))
