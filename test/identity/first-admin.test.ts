import {
  existsSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import {
  ensureFirstAdmin,
  generatedPassword,
  hasGeneratedPassword,
} from '../../src/identity/first-admin.ts'
import { passwordFileIn } from '../../src/identity/password-file.ts'
import { createPasswords } from '../../src/identity/passwords.ts'
import { addUser, BEGIN_MS, logIn, useAuth } from '../support/identity/login-server.ts'
import { useFolderEach } from '../support/opened.ts'

const auth = useAuth()
const dataDir = useFolderEach()

function ensure(folder = dataDir()) {
  const world = auth.server()
  const deps = { ...world.deps, passwords: createPasswords(), dataDir: folder }
  return { world, made: ensureFirstAdmin(deps) }
}

describe('the first admin', () => {
  it('is created in an empty catalogue, with the password in a file', async () => {
    const { world, made } = ensure()
    const { username, password, path } = (await made) ?? { username: '', password: '', path: '' }
    expect(username).toBe('admin')
    expect(readFileSync(path, 'utf8')).toBe(password)
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(readdirSync(dataDir())).toEqual(['admin-password'])
    const { body } = await logIn(world, 'admin', password)
    const details = { permissions: ['read', 'write', 'admin'], must_change_password: true }
    expect(body).toMatchObject({ status: 1, details })
    expect(await hasGeneratedPassword(auth.catalog(), BEGIN_MS)).toBe(true)
    expect(world.logged()).not.toContain(password)
    const audit = JSON.stringify(await auth.catalog().audit.find().toArray())
    expect(audit).toContain('"create"')
    expect(audit).not.toMatch(new RegExp(`${password}|argon2`))
  })

  it('is created once by several processes that start together', async () => {
    const made = await Promise.all(Array.from({ length: 4 }, () => ensure().made))
    const [one, ...others] = made.filter((each) => each !== null)
    expect(others).toEqual([])
    expect(await auth.catalog().users.countDocuments()).toBe(1)
    expect(readFileSync(passwordFileIn(dataDir()), 'utf8')).toBe(one?.password)
  })

  it('is not created where there are users; an outdated password file is removed', async () => {
    await addUser(auth.catalog())
    writeFileSync(passwordFileIn(dataDir()), 'old')
    expect(await ensure().made).toBeNull()
    expect(existsSync(passwordFileIn(dataDir()))).toBe(false)
    expect(await hasGeneratedPassword(auth.catalog(), BEGIN_MS)).toBe(false)
  })

  it('keeps the password file while its password is valid', async () => {
    await ensure().made
    expect(await ensure().made).toBeNull()
    expect(existsSync(passwordFileIn(dataDir()))).toBe(true)
  })

  it('replaces an existing file, and follows no link', async () => {
    const elsewhere = join(dataDir(), 'elsewhere')
    writeFileSync(elsewhere, 'precious')
    symlinkSync(elsewhere, passwordFileIn(dataDir()))
    await ensure().made
    expect(readFileSync(elsewhere, 'utf8')).toBe('precious')
    expect(readFileSync(passwordFileIn(dataDir()), 'utf8')).toMatch(/^[a-z2-9-]{24}$/)
  })

  it('is not created if the file cannot be written', async () => {
    const taken = join(dataDir(), 'file')
    writeFileSync(taken, '')
    await expect(ensure(taken).made).rejects.toThrow(/EEXIST|ENOTDIR/)
    expect(await auth.catalog().users.countDocuments()).toBe(0)
    expect(await ensure().made).not.toBeNull()
  })
})

describe('a generated password', () => {
  it('is long, easy to type, and different each time', () => {
    const made = Array.from({ length: 200 }, generatedPassword)
    for (const password of made) {
      expect(password).toMatch(/^([a-hjkmnp-z2-9]{4}-){4}[a-hjkmnp-z2-9]{4}$/)
    }
    expect(new Set(made).size).toBe(200)
  })
})
