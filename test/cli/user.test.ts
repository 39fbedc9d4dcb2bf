import { userInfo } from 'node:os'
import { verify } from '@node-rs/argon2'
import { afterEach, beforeAll, describe, expect, it } from 'vitest'
import { useTollgate } from '../support/cli/tollgate.ts'
import { addUser, setSecurity } from '../support/identity/login-server.ts'

const tollgate = useTollgate()
const ADMIN = 'boss@example.org'
const OPS = 'ops@example.org'
const GENERATED = /(?:[a-z2-9]{4}-){4}[a-z2-9]{4}/

beforeAll(() => tollgate.catalog().ensureIndexes())
afterEach(async () => {
  await tollgate.catalog().users.deleteMany({})
  await tollgate.catalog().audit.deleteMany({})
  await tollgate.catalog().secondfactors.deleteMany({})
})

const user = (username: string) => tollgate.catalog().users.findOne({ username })

async function enrolTotp(id: string): Promise<void> {
  const factor = { secret: 'v2:sealed', pending: null, enrolled_at: new Date(0), recovery: [] }
  await tollgate.catalog().secondfactors.insertOne({ _id: id, username: OPS, ...factor })
}

async function audited() {
  const records = await tollgate.catalog().audit.find().toArray()
  return records.map(({ collection, type, key, user: { name, by } }) => {
    return [collection, type, key, name, by]
  })
}

describe('tollgate user', () => {
  it('add: shows the password once, and stores its hash', async () => {
    const { code, stdout, stderr } = await tollgate.run('user', 'add', OPS, '--role', 'read, write')
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout.match(new RegExp(GENERATED, 'g'))).toHaveLength(1)
    const password = GENERATED.exec(stdout)?.[0] ?? ''
    const stored = await user(OPS)
    expect(await verify(stored?.password ?? '', password)).toBe(true)
    expect(stored).toMatchObject({ roles: ['read', 'write'], must_change_password: true })
    expect(await audited()).toEqual([['users', 'create', OPS, userInfo().username, 'cli']])
    const all = JSON.stringify(await tollgate.catalog().audit.find().toArray())
    expect(all).not.toMatch(new RegExp(`${password}|argon2`))
  })

  it('add and password: read a password from standard input, and show none', async () => {
    const options = ['--role', 'admin', '--password-stdin']
    const added = await tollgate.pipe('correct horse\n', 'user', 'add', OPS, ...options)
    expect([added.code, added.stderr]).toEqual([0, ''])
    expect(added.stdout).not.toContain('correct horse')
    const before = await user(OPS)
    expect(before?.must_change_password).toBe(true)
    expect(await verify(before?.password ?? '', 'correct horse')).toBe(true)
    const changed = await tollgate.pipe('a new staple', 'user', 'password', OPS, '--password-stdin')
    expect([changed.code, changed.stderr]).toEqual([0, ''])
    const after = await user(OPS)
    expect(await verify(after?.password ?? '', 'a new staple')).toBe(true)
    expect(after).toMatchObject({ roles: ['admin'], must_change_password: true })
    expect((await audited()).map(([, type]) => type)).toEqual(['create', 'changepassword'])
  })

  it('add: requires a password change only if the settings or the option say so', async () => {
    await setSecurity(tollgate.catalog(), { password: { change_given: false } })
    const given = ['--password-stdin']
    await tollgate.pipe('correct horse', 'user', 'add', OPS, '--role', 'read', ...given)
    expect((await user(OPS))?.must_change_password).toBe(false)
    await tollgate.pipe('a new staple', 'user', 'password', OPS, '--must-change', ...given)
    expect((await user(OPS))?.must_change_password).toBe(true)
    await setSecurity(tollgate.catalog(), {})
  })

  it('list: shows all users, and no hash', async () => {
    const last_login = new Date(Date.UTC(2026, 0, 2))
    const id = await addUser(tollgate.catalog(), { username: ADMIN, roles: ['admin'], last_login })
    await enrolTotp(id)
    await addUser(tollgate.catalog(), { password_generated: true })
    const { stdout } = await tollgate.run('user', 'list', '--json')
    expect(JSON.parse(stdout)).toEqual([
      {
        username: ADMIN,
        roles: ['admin'],
        last_login: last_login.toISOString(),
        password: 'set',
        totp: true,
      },
      {
        username: OPS,
        roles: ['read', 'write'],
        last_login: null,
        password: 'generated',
        totp: false,
      },
    ])
    const table = await tollgate.run('user', 'list')
    expect(table.stdout).toMatch(
      /name +roles +last login +password +totp\n.*boss@example\.org +admin/,
    )
    expect(table.stdout).not.toContain('argon2')
  })

  it('reset-totp: removes the second factor of a user', async () => {
    const id = await addUser(tollgate.catalog())
    await enrolTotp(id)
    const reset = await tollgate.run('user', 'reset-totp', OPS)
    expect([reset.code, reset.stdout]).toEqual([0, `${OPS} has no second factor any more\n`])
    expect(await tollgate.catalog().secondfactors.countDocuments()).toBe(0)
    expect((await audited()).map(([, type]) => type)).toEqual(['totp_reset'])
    const again = await tollgate.run('user', 'reset-totp', OPS)
    expect([again.code, again.stderr]).toEqual([1, `tollgate: ${OPS} has no second factor\n`])
  })

  it('remove: removes a user, except the last admin', async () => {
    await addUser(tollgate.catalog(), { username: ADMIN, roles: ['admin'] })
    await addUser(tollgate.catalog(), { roles: ['admin'] })
    expect(await tollgate.run('user', 'remove', OPS)).toMatchObject({
      code: 0,
      stdout: `removed ${OPS}\n`,
    })
    expect(await user(OPS)).toMatchObject({ deleted: true })
    const last = await tollgate.run('user', 'remove', ADMIN)
    expect([last.code, last.stderr]).toEqual([
      1,
      `tollgate: users: ${ADMIN} is the last one with role admin\n`,
    ])
    expect((await user(ADMIN))?.deleted).toBeUndefined()
    expect((await tollgate.run('user', 'add', OPS, '--role', 'read')).code).toBe(0)
  })

  it.each([
    [['add', 'ops', '--role', 'read'], '', 1, 'username must be an e-mail address'],
    [['add', OPS], '', 2, '--role is missing'],
    [['add', ADMIN, '--role', 'read'], '', 1, 'users: there is already one with the same username'],
    [['remove', OPS], '', 1, `there is no user ${OPS}`],
    [
      ['password', ADMIN, '--password-stdin'],
      'short',
      1,
      'password must have 12 to 256 characters',
    ],
    [['password', ADMIN, '--password-stdin'], 'two\nlines', 1, 'the password must be one line'],
  ])('refuses %j with %j, and stores nothing', async (args, input, code, text) => {
    await addUser(tollgate.catalog(), { username: ADMIN, roles: ['admin'] })
    const before = await tollgate.catalog().users.find().toArray()
    const ended = await tollgate.pipe(input, 'user', ...args)
    expect([ended.code, ended.stdout]).toEqual([code, ''])
    expect(ended.stderr).toContain(`tollgate: ${text}`)
    expect(await tollgate.catalog().users.find().toArray()).toEqual(before)
    expect(await audited()).toEqual([])
  })
})
