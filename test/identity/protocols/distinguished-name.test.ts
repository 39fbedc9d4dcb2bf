import { expect, it } from 'vitest'
import {
  comparableName,
  escapedInFilter,
  escapedInName,
} from '../../../src/identity/protocols/distinguished-name.ts'

it('escapes special characters of a filter in a value', () => {
  expect(escapedInFilter('a*(b)\\c\0é')).toBe('a\\2a\\28b\\29\\5cc\\00é')
})

it('escapes special characters of a DN in a value', () => {
  expect(escapedInName(' a,b+c="d"<e>;#f\\ ')).toBe('\\ a\\,b\\+c\\=\\"d\\"\\<e\\>\\;\\#f\\\\\\ ')
  expect(escapedInName('#a\0')).toBe('\\#a\\00')
})

it('treats differently written forms of a DN as equal', () => {
  const same = [
    'cn=Ops,ou=Groups,dc=example,dc=net',
    'CN = ops , OU=groups,DC=Example, dc=net',
    'cn=\\4fps,ou=groups,dc=example,dc=net',
  ]
  expect(new Set(same.map(comparableName)).size).toBe(1)
  expect(comparableName('cn=a+sn=b,dc=x')).toBe(comparableName('sn=B+cn=A,dc=x'))
  expect(comparableName('cn=\\c3\\a9,dc=x')).toBe(comparableName('cn=É,dc=x'))
  expect(comparableName(' Staff ')).toBe('staff')
})

it('treats different DNs as different: escaped characters separate nothing', () => {
  const different = [
    'cn=a,ou=b,dc=x',
    'cn=a\\,ou\\=b,dc=x',
    'cn=a\\2cou=b,dc=x',
    'cn=a+ou=b,dc=x',
    'cn=a,dc=x',
    'cn=a\\ ,dc=x',
    'a',
  ]
  const compared = different.map(comparableName)
  expect(compared[1]).toBe(compared[2])
  expect(new Set(compared).size).toBe(different.length - 1)
})
