/** A user cannot delete the own user, which the session identifies. */
import { expect, it } from 'vitest'
import type { Actor } from '../../../src/catalog/actor.ts'
import { change } from '../../../src/entities/actions/change.ts'
import { USER_RULES } from '../../../src/entities/rules/users.ts'
import { insertEntity } from '../../support/catalog/store.ts'
import { definitionOf, storesOf } from '../../support/entities/actions/entity-fixture.ts'
import { useOpened } from '../../support/opened.ts'
import { startTestStores } from '../../support/recorder/accounts.ts'

const open = useOpened(startTestStores)

async function remove(username: string, actor: Actor): Promise<unknown> {
  const { catalog } = open()
  const roles = ['read']
  const user = { username, password: '$argon2id$x', roles, from: '2025-01-01' }
  const { _id } = await insertEntity(catalog, 'users', user)
  const changes = { set: {}, push: [], pull: [] }
  const request = { definition: definitionOf('users'), actor, target: { _id }, changes, raw: {} }
  const stores = { ...storesOf(open()), rules: { users: USER_RULES } }
  return change(stores, 'delete', { ...request, from: null, to: null, fields: [] })
}

const at = { id: 'x', address: '192.0.2.1' }

it('a user cannot delete the own user in a session', async () => {
  const removed = remove('a@example.org', { ...at, by: 'session', name: 'a@example.org' })
  await expect(removed).rejects.toThrow('a user cannot delete itself')
  expect(await open().catalog.audit.countDocuments()).toBe(0)
  await remove('b@example.org', { ...at, by: 'session', name: 'a@example.org' })
})

it('a client with the name of a user is not that user', async () => {
  await remove('c@example.org', { ...at, by: 'token', name: 'c@example.org' })
  expect(await open().catalog.audit.findOne({ key: 'c@example.org' })).toMatchObject({
    collection: 'users',
    type: 'delete',
    new: null,
    old: { password: '(secret)' },
    user: { by: 'token', name: 'c@example.org', api: true },
  })
})
