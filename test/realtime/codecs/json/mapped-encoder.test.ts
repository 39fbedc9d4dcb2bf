import { describe, expect, it } from 'vitest'
import type { AnswerValue, ResponseNode } from '../../../../src/file-types/file-type.ts'
import { createJsonEncoder } from '../../../../src/realtime/codecs/json/mapped-encoder.ts'
import { answerOf, granted } from '../../../support/file-types/answers.ts'

/** Consecutive answers, each with the values of the fields of its message. */
function encoded(messages: readonly Readonly<Record<string, AnswerValue>>[]): string[] {
  const nodes = ['a', 'b'].map(
    (name): ResponseNode => ({
      kind: 'value',
      name,
      read: (_answer, _service, entry) => entry[name] as AnswerValue | undefined,
    }),
  )
  const { encode } = createJsonEncoder(nodes)
  return messages.map((message) => encode(answerOf(granted([]), { message }), null))
}

describe('values of consecutive answers', () => {
  it.each([
    [
      'the same',
      [
        { a: 1, b: 'x' },
        { a: 1, b: 'x' },
      ],
    ],
    [
      'others',
      [
        { a: 1, b: 'x' },
        { a: 2, b: 'y' },
        { a: 1, b: 'x' },
      ],
    ],
    ['first or after another', [{ a: 1, b: 'x' }, { b: 'x' }, { a: 1, b: 'x' }]],
    ['of another type', [{ a: 1 }, { a: '1' }, { a: true }, { a: 'true' }]],
    ['lists and records', [{ a: [1] }, { a: [1] }, { a: { c: 1 } }, { a: { c: 2 } }]],
    ['absent', [{ a: 1 }, {}, { a: 1 }]],
  ] as [string, Record<string, AnswerValue>[]][])('are written as given: %s', (_, messages) => {
    expect(encoded(messages)).toEqual(messages.map((message) => JSON.stringify(message)))
  })

  it('are omitted together if their precondition does not hold', () => {
    const read = () => 1
    const [has, lacks] = [() => true, () => false]
    const nodes: ResponseNode[] = [
      { kind: 'value', name: 'a', read, needs: lacks },
      { kind: 'value', name: 'b', read, needs: lacks },
      { kind: 'value', name: 'c', read, needs: has },
      { kind: 'value', name: 'd', read },
    ]
    expect(createJsonEncoder(nodes).encode(answerOf(granted([])), null)).toBe('{"c":1,"d":1}')
  })
})
