import { describe, expect, it } from 'vitest'
import { compileRegex, REGEX_INPUT_MAX } from '../../src/rating/rule-regex.ts'

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
  ])('%s on %s', (text, value, isMatch, rest) => {
    const regex = compileRegex(text, 'p')
    expect([regex.test(value), regex.test(value), regex.clear(value)]).toEqual([
      ...[isMatch, isMatch, rest],
    ])
  })

  it.each([
    ['/a', 'p has no closing /: /a'],
    ['/a/x', 'p has unknown flags: x'],
    ['/a/gg', 'p has unknown flags: gg'],
    ['(', 'p is not a regular expression: ('],
    ['(a+)+$', 'p must not repeat a group that itself repeats'],
    ['/((a|b{1,})c)*/', 'p must not repeat a group that itself repeats'],
    [7, 'p must be a regular expression'],
  ])('%s is refused', (text, problem) => {
    expect(() => compileRegex(text, 'p')).toThrow(problem)
  })

  it('does not look at what is too long', () => {
    const regex = compileRegex('/a$/', 'p')
    const long = 'a'.repeat(REGEX_INPUT_MAX)
    expect([regex.test(long), regex.clear(long)]).toEqual([true, long.slice(1)])
    expect([regex.test(`${long}a`), regex.clear(`${long}a`)]).toEqual([false, ''])
  })
})
