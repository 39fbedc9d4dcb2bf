import { describe, expect, it } from 'vitest'
import { isEmail, isMailbox } from '../../src/domain/email.ts'
import { checkUserName } from '../../src/entities/rules/users.ts'

describe('an e-mail address', () => {
  it.each(['a@example.org', "o'neil+x@mail.example.org", 'ü@müller.example', 'x.y_z@a-b.c'])(
    '%j',
    (text) => {
      expect(isEmail(text)).toBe(true)
    },
  )

  it.each([
    ...[
      '',
      'a',
      'a@',
      '@b.c',
      'a@b',
      'a@b..c',
      'a@b@c.d',
      'a b@c.d',
      'a,x@c.d',
      'a@c.d;x',
      '<a@c.d>',
    ],
    ...[
      'a@c.d\r\nBcc: x',
      'a\u0000@c.d',
      'a\u0007@c.d',
      '"a"@c.d',
      'a:b@c.d',
      `${'x'.repeat(65)}@c.d`,
    ],
    ...['.a@c.d', 'a.@c.d', 'a..b@c.d', 'a@-c.d', 'a@c-.d', 'a@c_d.e', 'a@[1.2.3.4]', 'a]b@c.d'],
    ...['a\u202e@c.d', 'a@c\u200b.d', `a@${'x'.repeat(64)}.d`],
    `a@${'x'.repeat(250)}.d`,
  ])('%j is refused', (text) => {
    expect(isEmail(text)).toBe(false)
    expect(() => checkUserName({ username: text })).toThrow('must be an e-mail address')
  })

  it('of settings may be in the own network', () => {
    expect(isMailbox('ops@mailhost')).toBe(true)
    expect(isMailbox('ops,x@mailhost')).toBe(false)
  })
})
