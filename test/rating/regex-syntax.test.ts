import fc from 'fast-check'
import { RE2JS } from 're2js'
import { describe, expect, it } from 'vitest'
import { toRe2 } from '../../src/rating/regex-syntax.ts'
import { propertyRuns } from '../support/domain/property-runs.ts'

/** The result of both engines for a value: whether it matches, and the rest without the matches. */
function bothOf(source: string, flags: string, value: string) {
  const native = new RegExp(source, flags)
  let options = 0
  if (flags.includes('i')) options |= RE2JS.CASE_INSENSITIVE
  if (flags.includes('m')) options |= RE2JS.MULTILINE
  const linear = RE2JS.compile(toRe2(source, flags), options)
  return {
    native: [native.test(value), value.replace(new RegExp(native, `${flags}g`), '')],
    linear: [linear.test(value), linear.matcher(value).replaceAll('')],
  }
}

const VALUES = [
  '',
  'a',
  'A',
  'ab',
  'aab',
  '+49301234',
  '0049',
  'NET.x',
  'a b\tc',
  'a\nb',
  'a\r\nb',
  '\u2028',
  '\u00a0',
  '\ufeff',
  '\u180e',
  'é',
  'z',
  'x-y',
  '[a]',
  '{2}',
  'a{2}',
  '\\',
  '/',
  '^$',
  '-',
  '\b',
  '\u0000',
  'pL',
  'k<x>',
  'QE',
  'c',
  '\u0001',
  'u0041',
  '😀',
  '_',
  '.',
  '&&',
  ':alpha:',
  'ﬀ',
]

describe('an expression for the linear engine', () => {
  it.each([
    '(a|b)*',
    '(a+)+',
    '^(\\+|00)49',
    '(?:ab?)+',
    '(?<x>a)b',
    'a{2}',
    '(?:ab){02}',
    `(?:ab){${'0'.repeat(40)}1,}`,
    'a{2,}?',
    'x*?y',
    '$',
    '^',
    '.',
    '.+',
    '\\s',
    '\\S',
    '[\\s]',
    '[^\\s]',
    '[\\S]',
    '[^\\S]',
    '[a\\s-z]',
    '[\\d-x]',
    '[x-\\d]',
    '[+-]',
    '[-+]',
    '[]',
    '[^]',
    '[^^]',
    '[[a]',
    '[\\]]',
    '[a&&b]',
    '[[:alpha:]]',
    '[\\b]',
    '\\bb\\B',
    '{',
    '}',
    ']',
    'a{',
    'a{,3}',
    '\\{',
    '\\/',
    '/',
    '\\.',
    '\\-',
    '\\_',
    '\\z',
    '\\A',
    '\\Q',
    '\\C',
    '\\h',
    '\\p{L}',
    '\\x41',
    '\\u0041',
    '\\u{41}',
    '\\cA',
    '\\c',
    '[\\cA]',
    '\\0',
    '\\t\\n\\v\\f\\r',
    '\\x4',
    '\\u4',
    'é+',
    '[à-ÿ]',
    '|',
    'a|',
    '(|a)',
    '[.]',
    '[$^|()*+?]',
    '\\w\\W',
    '[\\w-]',
    '\\k',
  ])('%s equals its JavaScript counterpart', (source) => {
    for (const flags of ['', 'i', 's', 'm']) {
      for (const value of VALUES) {
        // With flag m the linear engine recognises only \n as a line end.
        if (flags === 'm' && /[\r\u2028]/.test(value)) continue
        const isRefused =
          source === '\\k' || (!flags.includes('u') && /[\ud800-\udfff]/.test(value))
        if (isRefused) continue
        const { native, linear } = bothOf(source, flags, value)
        expect({ value, flags, result: linear }).toEqual({ value, flags, result: native })
      }
    }
  })

  it.each([
    '.',
    '\\u{41}',
    '\\p{L}+',
    '[\\p{Lu}\\d]',
    '\\P{L}',
    '😀+',
    '[😀a]',
    '\\u{1f600}',
    '[^a]',
  ])('%s equals its JavaScript counterpart by whole characters', (source) => {
    for (const value of VALUES) {
      const { native, linear } = bothOf(source, 'u', value)
      expect({ value, result: linear }).toEqual({ value, result: native })
    }
  })

  const atom = fc.constantFrom('a', 'b', '.', '[ab]', '[^a]', '\\d', '\\w', '\\.', '1', '\\s')
  const quantifier = fc.constantFrom('', '', '', '*', '+', '?', '{2}', '{1,2}', '*?', '+?', '{1,}')
  const piece = fc.tuple(atom, quantifier).map((parts) => parts.join(''))
  /** Expressions; the groups of `first` begin so. */
  const sourceOf = (first: fc.Arbitrary<string>) => {
    const branch = fc
      .tuple(first, fc.array(piece, { maxLength: 2 }))
      .map((parts) => parts.flat().join(''))
    const group = fc
      .tuple(fc.array(branch, { minLength: 1, maxLength: 3 }), fc.constantFrom('', '?', '{2}', '*'))
      .map(([branches, sign]) => `(${branches.join('|')})${sign}`)
    return fc
      .array(fc.oneof(piece, group), { minLength: 1, maxLength: 4 })
      .map((parts) => parts.join(''))
  }
  const value = fc.string({ unit: fc.constantFrom('a', 'b', '1', '.', ' ', 'c'), maxLength: 8 })
  const flags = fc.constantFrom('', 'i', 's')

  it('matches the same values as JavaScript', () => {
    fc.assert(
      fc.property(sourceOf(piece), flags, value, (source, flag, text) => {
        const { native, linear } = bothOf(`^(?:${source})$`, flag, text)
        expect(linear[0]).toBe(native[0])
      }),
      propertyRuns(1_000),
    )
  })

  // JavaScript does not repeat empty groups, which changes the length of a match, not its
  // existence.
  it('matches the same length as JavaScript if no group can be empty', () => {
    fc.assert(
      fc.property(sourceOf(atom), flags, value, (source, flag, text) => {
        const { native, linear } = bothOf(source, flag, text)
        expect(linear).toEqual(native)
      }),
      propertyRuns(1_000),
    )
  })
})
