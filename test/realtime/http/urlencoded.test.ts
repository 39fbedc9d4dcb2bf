import { describe, expect, it } from 'vitest'
import {
  decodeValue,
  readForm,
  readParameters,
  withoutFileType,
} from '../../../src/realtime/http/urlencoded.ts'

const MEGABYTE = 2 ** 20

describe('parameters', () => {
  it.each([
    ['', '', ''],
    ['file_type=gy', 'gy', ''],
    ['request=%7B%7D&file_type=gy', 'gy', '%7B%7D'],
    ['a=1&request=x=y&b', '', 'x=y'],
    ['request', '', ''],
    ['request=&file_type=', '', ''],
    ['request=&request=1', '', '1'],
    ['xrequest=1&requestx=2&my_file_type=3', '', ''],
    ['&&&file_type=a&&', 'a', ''],
    ['REQUEST=1', '', ''],
    ['=1', '', ''],
  ])('are read from %j', (text, fileType, request) => {
    expect(readParameters(text)).toEqual({ fileType, request })
  })

  it.each([
    ['request=1&request=1', 'request'],
    ['file_type=a&request=1&file_type=b', 'file_type'],
  ])('of %s are ambiguous', (text, field) => {
    expect(readParameters(text)).toEqual({ field, why: 'must be given once' })
  })

  it('of a body are the bytes as received', () => {
    expect(readForm(Buffer.from('request=é'))).toEqual({ fileType: '', request: 'Ã©' })
    expect(decodeValue('Ã©')).toEqual(Buffer.from('é'))
  })

  it.each(['{"a":"&request=1"}', ' \r\n\t[1]&request=1', '<a>&file_type=x</a>'])(
    'are not read from %j, which is not a form',
    (text) => {
      expect(readForm(Buffer.from(text))).toEqual({ fileType: '', request: '' })
    },
  )

  it('are removed from a query', () => {
    expect(withoutFileType('a=1&b=2')).toBe('a=1&b=2')
    expect(withoutFileType('file_type=x&a=1&file_type=&b=%26')).toBe('a=1&b=%26')
    expect(withoutFileType('a=1&file_type=x')).toBe('a=1')
    expect(withoutFileType('file_type=x')).toBe('')
  })
})

describe('a value', () => {
  it.each([
    ['', ''],
    ['abc', 'abc'],
    ['a+b%2Bc', 'a b+c'],
    ['%7b%22a%22%3A%22%C3%A9%22%7D', '{"a":"é"}'],
    ['%00%25', '\u0000%'],
  ])('of %s is decoded', (value, text) => {
    expect(decodeValue(value)?.toString()).toBe(text)
  })

  it.each(['%', '%1', '%g0', '%0g', 'a%', 'a%4', '%%41', '%4%31', '%-1', '%`0'])(
    'of %s is not valid',
    (value) => {
      expect(decodeValue(value)).toBeNull()
    },
  )
})

describe('a megabyte', () => {
  it.each([
    ['%', '%'.repeat(MEGABYTE)],
    ['&', '&'.repeat(MEGABYTE)],
    ['pairs', 'a=1&'.repeat(MEGABYTE / 4)],
    ['a similar name', 'reques=1&file_typ='.repeat(MEGABYTE / 16)],
    ['+', '+'.repeat(MEGABYTE)],
  ])('of %s is read without parameters', (_what, text) => {
    expect(readForm(Buffer.from(text))).toEqual({ fileType: '', request: '' })
  })

  it('is decoded as a value, or refused', () => {
    expect(decodeValue('%'.repeat(MEGABYTE))).toBeNull()
    expect(decodeValue('%41'.repeat(MEGABYTE))?.length).toBe(MEGABYTE)
    expect(decodeValue(`${'+'.repeat(MEGABYTE)}%`)).toBeNull()
  })
})
