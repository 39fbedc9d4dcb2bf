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
})
