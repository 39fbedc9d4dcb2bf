/** The compiler refuses an answer that is not as its schema says; `tsc` checks this file. */
import { Type } from '@sinclair/typebox'
import { expect, it } from 'vitest'
import { action } from '../../../src/admin/actions/action.ts'
import { param } from '../../../src/admin/actions/parameters.ts'
import { integer, text } from '../../../src/catalog/entities/json-schema.ts'

const declared = {
  name: 'counted',
  level: 'read',
  about: 'Count',
  parameters: Type.Object({}),
  answer: { count: integer('Number.'), note: param.optional(text('A note.')) },
  example: { parameters: {}, answer: { count: 1 } },
} as const

it('an answer has the declared members, with their types', () => {
  const right = action({ ...declared, run: async () => ({ count: 1, desc: 'done' }) })
  // @ts-expect-error a required member is missing
  action({ ...declared, run: async () => ({ note: 'none' }) })
  // @ts-expect-error a member has another type
  action({ ...declared, run: async () => ({ count: '1' }) })
  // @ts-expect-error an optional member has another type
  action({ ...declared, run: async () => ({ count: 1, note: 2 }) })
  expect(Object.keys(right.answer)).toEqual(['count', 'note'])
})
