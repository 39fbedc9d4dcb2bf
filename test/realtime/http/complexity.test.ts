/** The worst possible forms and queries: twice the size takes at most about twice the work. */
import { expect, it } from 'vitest'
import {
  decodeValue,
  readForm,
  readParameters,
  withoutFileType,
} from '../../../src/realtime/http/urlencoded.ts'
import { operationsOf } from '../../support/operations.ts'

const BYTES = 65_536

it.each([
  '&',
  '=',
  '%',
  '+',
  '%41',
  'a=1&',
  'request=&',
  'request',
  'xrequest=&',
  'file_type=&',
  '&file_type=a',
  'file_type=file_type=',
  'request=x',
  ' ',
  '\n',
  '{',
  '&&request=%zz',
])('a form or query of %j takes linear work', (part) => {
  const work = (bytes: number) => {
    const text = part.repeat(bytes / part.length)
    const body = Buffer.from(text)
    return operationsOf(() => {
      readForm(body)
      readParameters(text)
      withoutFileType(text)
      decodeValue(text)
    })
  }
  const [half, whole] = [work(BYTES / 2), work(BYTES)]
  expect(whole).toBeLessThan(half * 2.4 + 1_000)
  expect(whole).toBeLessThan(BYTES * 20)
})
