/** Category `permissions` of the stored configuration: rules in addition to the built-in ones. */
import { type Static, Type } from '@sinclair/typebox'
import { object } from '../settings-schema.ts'

const NAME_LENGTH_MAX = 64

const name = (pattern: string, description: string) =>
  Type.String({ pattern, maxLength: NAME_LENGTH_MAX, description })

const Everything = Type.Literal('*')

export const PermissionsSchema = object('an object of rules', {
  rules: Type.Optional(
    Type.Array(
      object('an object of collection, actions and roles', {
        collection: name('^([a-z][a-z0-9]*|\\*)$', "the name of a collection, or '*'"),
        actions: Type.Union(
          [
            Everything,
            Type.Array(name('^[a-z]+$', 'the name of an action, in small letters'), {
              minItems: 1,
              maxItems: 100,
              uniqueItems: true,
            }),
          ],
          { description: "a list of different actions, or '*'" },
        ),
        roles: Type.Array(
          name('^[a-z][a-z0-9_]{0,31}$', '1 to 32 small letters, digits and _, a letter first'),
          { minItems: 1, maxItems: 100, uniqueItems: true, description: 'a list of roles' },
        ),
      }),
      { maxItems: 1000, description: 'a list of rules' },
    ),
  ),
})

export type PermissionSettings = Static<typeof PermissionsSchema>
