import { type Static, Type } from '@sinclair/typebox'
import type { EntityDefinition, StoredFields } from './entity.ts'
import { date, flag, REV_INDEX, REVISION_DATES, revisionFields, text } from './entity.ts'

/** Who makes users sees to it that somebody knows the role. */
const ROLE = '^[a-z][a-z0-9_]{0,31}$'

/** An operator who logs in (spec/entity-api.md 4.10). `password` is a hash, and never shown. */
export const UserSchema = Type.Object({
  username: text(),
  ...revisionFields,
  password: text(),
  roles: Type.Array(Type.String({ pattern: ROLE, description: 'the name of a role' }), {
    description: 'a list of names of roles',
  }),
  last_login: Type.Optional(date()),
  /** A session of this user can do nothing before the password was changed. */
  must_change_password: flag(),
  /** It is the one that the node has made for the first user. */
  password_generated: flag(),
  password_changed_at: Type.Optional(date()),
})

export type UserDocument = Static<typeof UserSchema> & StoredFields

export const UserEntity: EntityDefinition = {
  schema: UserSchema,
  indexes: [{ key: { username: 1, deleted_at: 1 }, unique: true }, REV_INDEX],
  identity: ['username'],
  dates: [...REVISION_DATES, 'last_login', 'password_changed_at'],
}
