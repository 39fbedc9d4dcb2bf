import { describe, expect, it } from 'vitest'
import { readOne } from '../../src/intake/rejected.ts'
import { CSV, recordType } from '../support/file-types/records.ts'

describe('a record alone', () => {
  it.each([{}, { csv_has_footer: true }])('is no trailer: %j', (more) => {
    const read = readOne(recordType({ parser: { ...CSV, ...more } }), 7, '1,2,3,4')
    expect(read).toMatchObject({ line: 7, problem: null, message: { when: '1', seconds: '4' } })
  })

  it.each(['1,2,3,4\n', '1,2,3,4\r', '\n1,2,3,4', '1,2,3,4\r\n\r\n', '\ufeff1,2,3,4'])(
    '%j has the text that it has in a file',
    (text) => expect(readOne(recordType({ parser: CSV }), 7, text).text).toBe('1,2,3,4'),
  )

  it('is hexadecimal if it is bytes, in a form that identifies it', () => {
    const ber = recordType({ parser: { type: 'ber' } })
    const message = { recordType: 85, localSequenceNumber: 7 }
    const text = 'bf4f06800155940107'
    expect(readOne(ber, 7, text)).toEqual({ line: 7, text, message, problem: null })
    expect(readOne(ber, 7, text.toUpperCase()).text).toBe(text)
    const problemOf = (given: string) => readOne(ber, 7, given).problem?.why
    expect(problemOf('bf4f06800155940107bf4f00')).toBe('has 3 bytes after its value')
    expect(problemOf(text.slice(0, -2))).toMatch(/^is not BER/)
    for (const wrong of ['', 'x', 'a', 'é1']) {
      expect(problemOf(wrong)).toBe('must be hexadecimal')
    }
  })
})
