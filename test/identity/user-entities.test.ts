/** Rules of the entity API for users, beyond its general rules. */
import { verify } from '@node-rs/argon2'
import { describe, expect, it, vi } from 'vitest'
import { PASSWORDS } from '../../src/identity/passwords.ts'
import { idOf, stored, useApiServer } from '../support/entities/api/api-server.ts'
import { make } from '../support/entities/api/creators.ts'
import { setSecurity } from '../support/identity/login-server.ts'

const world = useApiServer()

async function one(username: unknown) {
  const [user] = await stored(world, 'users', { username })
  return user ?? {}
}

describe('fields of a user that only the node sets', () => {
  it.each(['password_generated', 'password_changed_at', 'last_login', 'deleted', 'rev'])(
    '%s is not writable',
    async (field) => {
      const { entity } = await make(world, 'users')
      const query = { _id: entity._id.$id }
      const before = await one(entity['username'])
      const update = { roles: ['read'], [field]: true }
      await world.call('users', 'update', { query, update })
      const after = await one(entity['username'])
      expect(after[field]).toEqual(field === 'rev' ? expect.any(Number) : before[field])
      expect(after[field]).not.toBe(true)
      const username = `${field.replace('_', '-')}@example.org`
      const created = { username, password: 'correct horse', roles: ['read'], [field]: true }
      await world.call('users', 'create', { update: created })
      expect((await one(username))[field]).not.toBe(true)
    },
  )

  it('are not shown, and neither is the hash', async () => {
    const { entity } = await make(world, 'users')
    const [row] = await world.rows('users', { query: { username: entity['username'] } })
    for (const shown of [entity, row]) {
      expect(shown).not.toHaveProperty('password')
      expect(shown).not.toHaveProperty('password_generated')
    }
  })

  it('are not set by lists, paths or operators either', async () => {
    const { entity } = await make(world, 'users', { roles: ['read'] })
    const query = { _id: entity._id.$id }
    const field_values = ['admin']
    const options = { push_fields: [{ field_name: 'roles', field_values }] }
    await world.refused('users', 'update', { query, update: {}, options })
    for (const update of [{ 'roles.0': 'admin' }, { $set: { roles: ['admin'] } }]) {
      await world.call('users', 'update', { query, update })
      expect((await one(entity['username']))['roles']).toEqual(['read'])
    }
  })
})

describe('a password that an admin sets', () => {
  it('is hashed only if nothing else is wrong with the user', async () => {
    const hash = vi.spyOn(PASSWORDS, 'hash')
    const update = { username: 'last@example.org', password: 'correct horse', roles: ['read'] }
    for (const wrong of [{ username: 'last' }, { roles: ['nobody'] }, { roles: undefined }]) {
      const [name] = Object.keys(wrong)
      const { body } = await world.call('users', 'create', { update: { ...update, ...wrong } })
      expect(body).toMatchObject({ status: 0, errors: [{ path: name }] })
    }
    expect(hash).not.toHaveBeenCalled()
    expect((await world.call('users', 'create', { update })).body).toMatchObject({ status: 1 })
    expect(hash).toHaveBeenCalledOnce()
    hash.mockRestore()
  })

  it('follows the settings, and no longer counts as generated', async () => {
    await setSecurity(world.stores().catalog, { password: { characters_min: 20 } })
    const { entity } = await make(world, 'users')
    const query = { _id: idOf({ entity }) }
    await world.stores().catalog.users.updateMany({}, { $set: { password_generated: true } })
    const short = { query, update: { password: 'nineteen characters' } }
    const { message } = await world.refused('users', 'update', short)
    expect(message).toBe('password must have 20 to 256 characters')
    const password = 'more than twenty characters'
    await world.ok('users', 'update', { query, update: { password } })
    const user = await one(entity['username'])
    expect(await verify(String(user['password']), password)).toBe(true)
    expect(user).toMatchObject({ password_generated: false, must_change_password: true })
    expect(user['password_changed_at']).toEqual(new Date(world.now()))
  })

  it('must differ from the user name', async () => {
    await setSecurity(world.stores().catalog, {})
    const { entity } = await make(world, 'users')
    expect(await one(entity['username'])).toMatchObject({ must_change_password: true })
    const query = { _id: idOf({ entity }) }
    const update = { password: String(entity['username']) }
    const { message } = await world.refused('users', 'update', { query, update })
    expect(message).toBe('password must not be the user name')
  })

  it('has to be changed by the user, and no admin can remove that duty', async () => {
    await setSecurity(world.stores().catalog, {})
    const { entity } = await make(world, 'users')
    expect(await one(entity['username'])).toMatchObject({ must_change_password: true })
    const query = { _id: idOf({ entity }) }
    const password = 'another good one'
    for (const update of [
      { must_change_password: false },
      { password, must_change_password: false },
    ]) {
      const { message } = await world.refused('users', 'update', { query, update })
      expect(message).toContain('must_change_password can only be cleared by the user')
    }
    const username = 'false@example.org'
    const created = { username, password, roles: ['read'], must_change_password: false }
    await world.refused('users', 'create', { update: created })
    await world.stores().catalog.users.updateMany({}, { $set: { must_change_password: false } })
    await world.ok('users', 'update', { query, update: { roles: ['read'] } })
    expect(await one(entity['username'])).toMatchObject({ must_change_password: false })
    await world.ok('users', 'update', { query, update: { must_change_password: true } })
    expect(await one(entity['username'])).toMatchObject({ must_change_password: true })
  })

  it('need not be changed where the settings do not require it', async () => {
    await setSecurity(world.stores().catalog, { password: { change_given: false } })
    const { entity } = await make(world, 'users')
    expect(await one(entity['username'])).toMatchObject({ must_change_password: false })
    const query = { _id: idOf({ entity }) }
    await world.ok('users', 'update', { query, update: { must_change_password: true } })
    await world.ok('users', 'update', { query, update: { must_change_password: false } })
    expect(await one(entity['username'])).toMatchObject({ must_change_password: false })
  })
})
