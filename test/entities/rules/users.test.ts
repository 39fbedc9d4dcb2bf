import { verify } from '@node-rs/argon2'
import { describe, expect, it } from 'vitest'
import { NODE_ACTOR } from '../../../src/catalog/actor.ts'
import { TargetError } from '../../../src/requests/errors.ts'
import { insertEntity, useStore } from '../../support/catalog/store.ts'
import {
  check,
  checkUnused,
  contextOf,
  documentOf,
  prepare,
  refusal,
} from '../../support/entities/rules/context.ts'

const store = useStore()
const ops = { username: 'ops@example.org', password: 'hash', roles: ['read', 'admin'] }

describe('the last user with role admin', () => {
  it('is neither deleted nor demoted', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'users', ops)
    await insertEntity(catalog, 'users', { username: 'one@example.org', roles: ['write'] })
    const ended = { username: 'two@example.org', roles: ['admin'], to: '2026-02-01' }
    await insertEntity(catalog, 'users', ended)
    const stored = documentOf(ops)
    const text = 'users: ops@example.org is the last one with role admin'
    const deleted = checkUnused('users', stored, contextOf(catalog))
    await expect(deleted).rejects.toThrow(new TargetError(text))
    const demoted = check('users', { ...ops, roles: ['read'] }, contextOf(catalog), stored)
    await expect(demoted).rejects.toThrow(new TargetError(text))
    await check('users', { ...ops, roles: ['admin'] }, contextOf(catalog), stored)
  })

  it('may be deleted or demoted while there is another one', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'users', ops)
    await insertEntity(catalog, 'users', { username: 'admin', roles: ['admin'] })
    const stored = documentOf(ops)
    await check('users', { ...ops, roles: ['read'] }, contextOf(catalog), stored)
    await checkUnused('users', stored, contextOf(catalog))
    await checkUnused('users', documentOf({ ...ops, roles: ['read'] }), contextOf(catalog))
  })

  it('may not delete the own user', async () => {
    const catalog = await store.open()
    await insertEntity(catalog, 'users', { username: 'admin', roles: ['admin'] })
    const context = contextOf(catalog, {
      actor: { ...NODE_ACTOR, by: 'session', name: 'ops@example.org' },
    })
    const asked = checkUnused('users', documentOf(ops), context)
    await expect(asked).rejects.toThrow(TargetError)
  })
})

describe('a user', () => {
  it('has a password that is stored as a hash', async () => {
    const context = contextOf(await store.open())
    const { set } = await prepare('users', { ...ops, password: 'correct horse' }, context)
    expect(set['password']).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    expect(await verify(String(set['password']), 'correct horse')).toBe(true)
    expect((await prepare('users', { roles: ['read'] }, context)).set).toEqual({ roles: ['read'] })
  })

  it.each([['short'], ['x'.repeat(257)], [''], [12_345_678], [null]])(
    'cannot have the password %j',
    async (password) => {
      const context = contextOf(await store.open())
      expect(await refusal(prepare('users', { ...ops, password }, context))).toEqual([
        0,
        'password must have 12 to 256 characters',
      ])
    },
  )

  it.each([
    [{ username: 'operator' }, 'username must be an e-mail address'],
    [{ username: 'a@b' }, 'username must be an e-mail address'],
    [{ username: 'a b@example.org' }, 'username must be an e-mail address'],
    [{ roles: [] }, 'roles must be a list of read, write, admin, reports'],
    [{ roles: 'admin' }, 'roles must be a list'],
    [{ roles: ['read', 'root'] }, 'roles must be a list'],
  ])('%j is refused', async (fields, text) => {
    const context = contextOf(await store.open())
    const refused = await refusal(check('users', { ...ops, ...fields }, context))
    expect(refused).toEqual([0, expect.stringContaining(text)])
  })

  it('is named by an e-mail address, except the first one', async () => {
    const context = contextOf(await store.open())
    await check('users', ops, context)
    await check('users', { ...ops, username: 'admin' }, context)
  })
})
