import { describe, expect, it } from 'vitest'
import { backtrackingOf } from '../../src/rating/regex-syntax.ts'
import { compileRegex, isCheap, REGEX_INPUT_MAX } from '../../src/rating/rule-regex.ts'

describe('an expression of a rule', () => {
  it.each([
    ['/^NET/i', 'net.x', true, '.x'],
    ['^net', 'net.net', true, '.net'],
    ['/./', 'ab', true, ''],
    ['//', 'ab', true, 'ab'],
    ['', 'ab', true, 'ab'],
    ['/[*+(]+x/', '+(x', true, ''],
    ['/(\\+|00)49(\\d+)/', '+4930', true, ''],
    ['/(ab){2}/', 'ababab', true, 'ab'],
    ['/(a{2,3}){2}/', 'aaaaa', true, ''],
    ['/x/', 'ab', false, 'ab'],
    ['/(?!49)\\d\\d/', '4930', true, '40'],
  ])('%s on %s', (text, value, isMatch, rest) => {
    const regex = compileRegex(text, 'p')
    expect([regex.test(value), regex.test(value), regex.clear(value)]).toEqual([
      isMatch,
      isMatch,
      rest,
    ])
  })

  it.each([
    ['/a', 'p has no closing /: /a'],
    ['/a/x', 'p has unknown flags: x'],
    ['/a/gg', 'p has unknown flags: gg'],
    ['(', 'p is not a regular expression: ('],
    ['/(?i)a/', 'p is not a regular expression: /(?i)a/'],
    ['(a+)+(?=b)', 'p cannot be run in bounded time: has a look-around'],
    ['(?<!a)(a+)+', 'p cannot be run in bounded time: has a look-around'],
    ['(a+)+\\1', 'p cannot be run in bounded time: has a back reference'],
    ['(?<x>a+)+\\k<x>', 'p cannot be run in bounded time: has a back reference'],
    ['(a+)+😀', 'p cannot be run in bounded time: has a surrogate pair'],
    ['(a+)+\\ud83d', 'p cannot be run in bounded time: has an unpaired surrogate'],
    ['(.*)\\1', 'p cannot be run in bounded time: has a back reference'],
    [`${'a'.repeat(4097)}`, 'p must have at most 4096 characters'],
    [
      '(a{1,1000}){1,1000}',
      'p cannot be run in bounded time: error parsing regexp: expression too large',
    ],
    [
      '(((a{30}){30}){30})',
      'p cannot be run in bounded time: error parsing regexp: invalid repeat',
    ],
    [`(a|b)*${'a{1000}'.repeat(500)}`, 'p is too large to be run in bounded time'],
    [`${'('.repeat(1300)}a${')*'.repeat(1300)}`, 'error parsing regexp: expression nests too deep'],
    ['(a+){2000}', 'p cannot be run in bounded time: error parsing regexp: invalid repeat count'],
    ['(a?){900}(b?){900}', 'p is too large to be run in bounded time'],
    [7, 'p must be a regular expression'],
  ])('%s is refused', (text, problem) => {
    expect(() => compileRegex(text, 'p')).toThrow(problem)
  })

  it('is not applied to a text that is too long', () => {
    for (const text of ['/a$/', '/(a|a)+$/']) {
      const regex = compileRegex(text, 'p')
      const long = 'a'.repeat(REGEX_INPUT_MAX)
      expect(regex.test(long)).toBe(true)
      expect(regex.clear(long)).toBe(text === '/a$/' ? long.slice(1) : '')
      expect([regex.test(`${long}a`), regex.clear(`${long}a`)]).toEqual([false, ''])
    }
  })
})

describe('backtracking', () => {
  it.each([
    ['abc', 1, 0],
    ['', 1, 0],
    ['^a.c$', 1, 0],
    ['a?b?c?', 8, 0],
    ['a{2}b{1,4}', 4, 0],
    ['a|b|c', 3, 0],
    ['(a|b)(c|d|e)', 6, 0],
    ['x(a|b(c|d))?y', 4, 0],
    ['[(*+|)\\]]', 1, 0],
    ['\\(\\*a\\|', 1, 0],
    ['a*', 1, 1],
    ['a{3,}b+', 1, 2],
    ['(?:a|b)*', Number.POSITIVE_INFINITY, 0],
    ['(ab){2}', Number.POSITIVE_INFINITY, 0],
    ['(?=a|b)c', 2, 0],
    ['{a{,2}', 1, 0],
    ['\\u{61}*\\u{61}+', 1, 2],
    [`a{${'0'.repeat(40)},}b{${'0'.repeat(40)}1,}`, 1, 2],
    [`(a+){${'0'.repeat(40)},}`, Number.POSITIVE_INFINITY, 1],
    ['\\p{Lu}*[\\]*]+', 1, 2],
    ['(?<n>a*)\\k<n>*', 1, 2],
    ['(?=a*)(?<=b*)c', 1, 2],
    ['(?:a?){1}', 3, 0],
  ])('of %s has %d ways and %d unbounded repetitions', (source, ways, unbounded) => {
    expect(backtrackingOf(source)).toMatchObject({ ways, unbounded })
  })

  it.each(['a*b', '^\\d{1,15}$', '^(sms|call|data)$', '^(\\+|00)?49', '[^;]+;', '(?!49)\\d\\d'])(
    'is cheap: %s',
    (source) => expect(isCheap(source)).toBe(true),
  )

  it.each([
    '(a|a)*$',
    '(a+)+',
    'a*a*a*a*b',
    'a*b*',
    '(a?){3}',
    `${'a?'.repeat(30)}b`,
    '(a|a)'.repeat(30),
    'a{0,99}a{0,99}a{0,99}b',
    '(?:x+x+)+y',
    // Each of few ways is long.
    `${'a?'.repeat(11)}a{128}b`,
    `${'(?:a|a)'.repeat(11)}${'a'.repeat(128)}b`,
    '(.*)\\1x',
    'a.*abcdefghijklmno',
  ])('is not cheap: %s', (source) => expect(isCheap(source)).toBe(false))
})

it.each([
  ['^(.*)\\1$', '', true],
  ['^(.*)\\1$', 'm', false],
  ['^(.*)\\1$|b', '', false],
  ['^a.*abcdefghijklmno$', '', true],
  ['^(?:a|b)\\d{9,12}$', '', true],
])('%s with the flags /%s is cheap: %s', (source, flags, isOne) => {
  expect(isCheap(source, flags)).toBe(isOne)
})

describe('an expression with exponential backtracking', () => {
  const text = 'a'.repeat(REGEX_INPUT_MAX)

  // Each of them would exceed any time-out in JavaScript's own engine.
  it.each([
    ['(a|a)*$', true],
    ['(a|a)*b', false],
    ['(a+)+', true],
    ['(a+)+b', false],
    ['(a*)*b', false],
    ['a*a*a*a*b', false],
    ['(?:a|aa|aaa)*b', false],
    ['([a-z]+)*\\d', false],
    ['^(([a-z])+.)+[A-Z]([a-z])+$', false],
    [`${'a?'.repeat(60)}${'a'.repeat(60)}b`, false],
    [`${'(a|a)'.repeat(60)}b`, false],
    ['a{0,99}a{0,99}a{0,99}a{0,99}b', false],
    ['/\\u{61}*\\u{61}*\\u{61}*\\u{61}*\\u{61}*b/u', false],
    [`/${'\\u{000061}*'.repeat(5)}b/u`, false],
    [`(a+){${'0'.repeat(40)},}b`, false],
    [`(?:a|aa){${'0'.repeat(40)}1,}$`, true],
    [`${'a?'.repeat(11)}a{250}b`, false],
  ])('%s terminates', (source, isMatch) => {
    const regex = compileRegex(source, 'p')
    expect(regex.test(text)).toBe(isMatch)
    expect(regex.clear(text)).toBe(isMatch ? '' : text)
  })
})
