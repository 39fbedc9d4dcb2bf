import { Type } from '@sinclair/typebox'
import { date, positiveInteger, text } from './entity.ts'

/** The services of a subscriber or account revision (interface.md 2.2). */
export const serviceEntries = () =>
  Type.Array(
    Type.Object({
      name: text(),
      from: Type.Optional(date()),
      to: Type.Optional(date()),
      service_id: Type.Optional(Type.Integer({ description: 'an integer' })),
      creation_time: Type.Optional(date()),
      quantity: Type.Optional(positiveInteger()),
    }),
    { description: 'a list of services' },
  )
