import fc from 'fast-check'
import { expect, it } from 'vitest'
import { type AnswerValue, NumberText } from '../../../../src/file-types/file-type.ts'
import { answerValueOf } from '../../../../src/file-types/message-values.ts'
import { encodeValue } from '../../../../src/realtime/codecs/json/value.ts'

it('a value is written as by JSON.stringify', () => {
  fc.assert(
    fc.property(fc.json({ noUnicodeString: false }), (text) => {
      const value = JSON.parse(text) as AnswerValue | null
      const answered = answerValueOf(value)
      if (answered === undefined) expect(value).toBeNull()
      else expect(encodeValue(answered)).toBe(JSON.stringify(answered))
    }),
  )
})

it('a value keeps the whole content of a message, except null', () => {
  const text = '{"__proto__":[1,"\\u0000",{"toString":false}],"a":-0.5,"n":null,"l":[null,2]}'
  expect(encodeValue(answerValueOf(JSON.parse(text)) ?? '')).toBe(
    '{"__proto__":[1,"\\u0000",{"toString":false}],"a":-0.5,"l":[2]}',
  )
})

it('numbers are written by their digits at any depth', () => {
  const exact = new NumberText('9007199254740993.000001')
  expect(encodeValue({ a: [exact, 1], b: exact })).toBe(
    '{"a":[9007199254740993.000001,1],"b":9007199254740993.000001}',
  )
})
