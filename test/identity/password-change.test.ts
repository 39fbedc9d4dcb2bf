import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import type { RawDocument } from '../../src/catalog/compile/document.ts'
import { writePasswordFile } from '../../src/identity/password-file.ts'
import { createSessionCheck } from '../../src/identity/session-check.ts'
import { changeUser } from '../../src/identity/user-write.ts'
import { createUsers } from '../../src/identity/users.ts'
import {
  addUser,
  BEGIN_MS,
  cookieOf,
  type LoginServer,
  logIn,
  PASSWORD,
  post,
  USER,
  useAuth,
  who,
} from '../support/identity/login-server.ts'

const auth = useAuth()
const NEXT = 'a staple, and a battery'

function change(world: LoginServer, fields: Record<string, string> = {}, cookie?: string) {
  const both = { password: PASSWORD, new_password: NEXT }
  return post(world, 'password', { ...both, ...fields }, cookie ?? null)
}

describe('a user who changes the own password', () => {
  it('continues in a new session, and all other sessions end', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const [cookie, other] = [await cookieOf(world), await cookieOf(world)]
    const changed = await change(world, {}, cookie)
    const input = { username: USER }
    expect(changed.body).toEqual({ status: 1, desc: 'success', details: true, input })
    expect((await who(world, cookie)).body.status).toBe(0)
    expect((await who(world, other)).body.status).toBe(0)
    expect((await who(world, changed.cookie)).body.status).toBe(1)
    expect((await logIn(world)).body.status).toBe(0)
    expect((await logIn(world, USER, NEXT)).body.status).toBe(1)
  })

  it('needs no session, where none can be opened', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const { body, cookie } = await change(world, { username: USER })
    expect([body.status, cookie]).toEqual([1, null])
    expect((await logIn(world, USER, NEXT)).body.status).toBe(1)
  })

  it('is recorded in the audit, without the passwords', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    await change(world, { username: USER })
    const [record] = await auth.catalog().audit.find().toArray()
    expect(record).toMatchObject({ collection: 'login', type: 'changepassword', new: null })
    const all = JSON.stringify(record) + world.logged()
    for (const secret of [PASSWORD, NEXT, '$argon2']) expect(all).not.toContain(secret)
  })

  it.each([
    [{ password: 'not the old one' }, 'the user name or the password is wrong'],
    [{ new_password: 'short' }, 'new_password must have 12 to 256 characters'],
    [{ new_password: USER.toUpperCase() }, 'new_password must not be the user name'],
    [{ new_password: 'PassWord1234' }, 'new_password is one of the most common ones'],
    [{ new_password: 'AdminIstrator' }, 'new_password is one of the most common ones'],
    [{ new_password: 'LetMeInLetMeIn' }, 'new_password is one of the most common ones'],
    [{ new_password: 'zzzzzzzzzzzz' }, 'new_password is one of the most common ones'],
    [{ new_password: 'Tollgate-2026!' }, 'new_password must not be the name of the product'],
    [{ new_password: PASSWORD }, 'new_password must not be the old one'],
    [{ new_password: 'a\0bcdefghijkl' }, 'new_password must have no zero byte'],
    [{ new_password: '' }, 'new_password is missing'],
    [{ username: 'nobody@example.org' }, 'the user name or the password is wrong'],
  ])('gets %j refused', async (fields, desc) => {
    await addUser(auth.catalog())
    const world = auth.server()
    const before = await auth.catalog().users.findOne()
    const { body } = await change(world, { username: USER, ...fields })
    expect(body).toMatchObject({ status: 0, desc, details: false })
    expect(await auth.catalog().users.findOne()).toEqual(before)
  })

  it('cannot change the password of another user', async () => {
    await addUser(auth.catalog())
    await addUser(auth.catalog(), { username: 'boss@example.org', roles: ['admin'] })
    const world = auth.server()
    const cookie = await cookieOf(world)
    const { body } = await change(world, { username: 'boss@example.org' }, cookie)
    expect(body).toMatchObject({ status: 0, details: false })
    expect((await logIn(world, 'boss@example.org')).body.status).toBe(1)
  })

  it('who guesses the old one is locked, as at login', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    for (let tries = 0; tries < 5; tries += 1) {
      expect((await change(world, { username: USER, password: 'no' })).http).toBe(200)
    }
    expect((await change(world, { username: USER })).http).toBe(429)
    expect((await logIn(world)).http).toBe(429)
  })

  it('may type it with accents, in any Unicode normalisation', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    await change(world, { username: USER, new_password: 'Zoe\u0308 \u00e0 la mer' })
    expect((await logIn(world, USER, 'Zo\u00eb a\u0300 la mer')).body.status).toBe(1)
  })
})

describe('a forced change', () => {
  it('is reported at login, and is over after the change', async () => {
    await addUser(auth.catalog(), { must_change_password: true })
    const world = auth.server()
    const { body, cookie } = await logIn(world)
    expect(body).toMatchObject({ status: 1, details: { must_change_password: true } })
    const check = createSessionCheck(world)
    expect((await check(cookie))?.user.mustChangePassword).toBe(true)
    const changed = await change(world, {}, cookie ?? '')
    expect((await check(changed.cookie))?.user.mustChangePassword).toBe(false)
    expect(await auth.catalog().users.findOne()).toMatchObject({
      must_change_password: false,
      password_changed_at: new Date(BEGIN_MS),
    })
  })

  it('of the generated password removes its file', async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'tg-auth-'))
    try {
      await writePasswordFile(dataDir, PASSWORD)
      await addUser(auth.catalog(), { username: 'admin', password_generated: true })
      const world = auth.server({ dataDir })
      await change(world, { username: 'admin' })
      expect(readdirSync(dataDir)).toEqual([])
      expect(await auth.catalog().users.findOne()).toMatchObject({ password_generated: false })
    } finally {
      rmSync(dataDir, { recursive: true })
    }
  })
})

function changeBySomebody(id: string, change: (document: RawDocument) => RawDocument) {
  const stores = { catalog: auth.catalog(), clock: { nowMs: () => BEGIN_MS } }
  const actor = { by: 'cli', id: '', name: 'tester', address: '' } as const
  const entry = { collection: 'users', type: 'update', key: id }
  return changeUser(stores, id, change, { actor, entry })
}

describe('a session whose user is changed by others', () => {
  async function opened() {
    const id = await addUser(auth.catalog())
    const world = auth.server()
    const cookie = await cookieOf(world)
    const check = createSessionCheck(world)
    return { id, world, cookie, roles: async () => (await check(cookie))?.user.roles ?? null }
  }

  it('ends within half a second of the deletion', async () => {
    const { id, world, roles } = await opened()
    expect(await roles()).toEqual(['read', 'write'])
    const deleted = { deleted: true, deleted_at: new Date(BEGIN_MS) }
    await changeBySomebody(id, (document) => ({ ...document, ...deleted }))
    expect(await roles()).not.toBeNull()
    world.pass(500)
    expect(await roles()).toBeNull()
    await auth.catalog().users.updateOne({}, { $unset: { deleted: 1, deleted_at: 1 } })
    world.pass(500)
    expect(await roles()).toBeNull()
  })

  it('has the new roles within half a second', async () => {
    const { id, world, roles } = await opened()
    expect(await roles()).toEqual(['read', 'write'])
    await changeBySomebody(id, (document) => ({ ...document, roles: ['read'] }))
    world.pass(500)
    expect(await roles()).toEqual(['read'])
  })

  it('ends within half a second of a password change by any process', async () => {
    const { id, world, roles, cookie } = await opened()
    const hash = (await auth.catalog().users.findOne())?.password
    await changeBySomebody(id, (document) => ({ ...document, password: `${hash}x` }))
    world.pass(500)
    expect(await roles()).toBeNull()
    expect(await world.sessions.find(cookie)).toBeNull()
  })

  it('stays valid in a process that has an older state of the user', async () => {
    await addUser(auth.catalog())
    const world = auth.server()
    const cookie = await cookieOf(world)
    const users = createUsers(world.deps)
    const elsewhere = createSessionCheck({ sessions: world.sessions, users })
    expect(await elsewhere(cookie)).not.toBeNull()
    const changed = await change(world, {}, cookie)
    expect(await elsewhere(changed.cookie)).not.toBeNull()
    expect(await elsewhere(cookie)).toBeNull()
  })
})
