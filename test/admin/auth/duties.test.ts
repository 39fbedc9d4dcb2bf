/** Rights of a session before the password is changed or a second factor is set up. */
import { generateSync } from 'otplib'
import { beforeAll, describe, expect, it } from 'vitest'
import { ENDPOINTS } from '../../../src/admin/endpoints.ts'
import { startClosedAdmin } from '../../support/identity/closed-admin.ts'
import { useOpened } from '../../support/opened.ts'

const PASSWORD = 'a good password'
const NEXT = 'a better password'
const BOSS = 'boss@example.org'
const NEW = 'new@example.org'
const closed = useOpened(() => startClosedAdmin({ TOLLGATE_ADMIN_OPEN_PATHS: '' }))
beforeAll(async () => {
  await closed().addUser(BOSS, PASSWORD, ['admin'])
})

const get = async (path: string, cookie: string) => {
  const answer = await fetch(closed().url + path, { headers: { cookie } })
  return `${answer.status} ${await answer.text()}`
}

/** The answer of each guarded route to a session. */
async function refusals(cookie: string): Promise<Record<string, string>> {
  const paths = [
    '/billapi/plans/get',
    '/billapi/users/get',
    '/api/settings?category=security',
    ...ENDPOINTS.node.map(({ path }) => path),
  ]
  const answers: Record<string, string> = {}
  for (const path of paths) answers[path] = await get(path, cookie)
  const create = { update: JSON.stringify({ key: 'X', description: 'X', rate: 0.1 }) }
  answers['create'] = JSON.stringify(await closed().post('/billapi/taxes/create', create, cookie))
  const reset = await closed().post('/auth/totp/reset', { username: BOSS }, cookie)
  answers['reset'] = JSON.stringify(reset)
  return answers
}

const allContaining = (answers: Record<string, string>, text: string) =>
  Object.fromEntries(Object.keys(answers).map((path) => [path, expect.stringContaining(text)]))

describe('a session whose password was set by another user', () => {
  it('may change it or log out; everything else is refused by a named error', async () => {
    const boss = await closed().cookieOf(BOSS, PASSWORD)
    const user = { username: NEW, password: PASSWORD, roles: ['admin'] }
    const made = await closed().post(
      '/billapi/users/create',
      { update: JSON.stringify(user) },
      boss,
    )
    expect(made).toMatchObject({ status: 1 })
    const cookie = await closed().cookieOf(NEW, PASSWORD)
    const answers = await refusals(cookie)
    expect(answers).toEqual(allContaining(answers, 'the password must be changed first'))
    expect(await closed().post('/auth/logout', {}, cookie)).toMatchObject({ status: 1 })
    const again = await closed().cookieOf(NEW, PASSWORD)
    const change = { password: PASSWORD, new_password: NEXT }
    expect(await closed().post('/auth/password', change, again)).toMatchObject({ status: 1 })
    const after = await closed().cookieOf(NEW, NEXT)
    expect(await get('/billapi/plans/get', after)).toContain('"status":1')
  })
})

describe('a session of a role that requires a second factor', () => {
  it('may only set one up; an administrator may remove it again', async () => {
    const reader = 'reader@example.org'
    await closed().addUser(reader, PASSWORD, ['read'])
    await closed().setting('security', { totp: { required_roles: ['read'] } })
    const cookie = await closed().cookieOf(reader, PASSWORD)
    const answers = await refusals(cookie)
    expect(answers).toEqual(allContaining(answers, 'a second factor must be set up first'))
    const begun = await closed().post('/auth/totp/begin', {}, cookie)
    const { secret } = begun['details'] as { secret: string }
    const totp = generateSync({ secret, epoch: closed().now() / 1000 })
    expect(await closed().post('/auth/totp/confirm', { totp }, cookie)).toMatchObject({ status: 1 })
    expect(await get('/billapi/plans/get', cookie)).toContain('"status":1')

    const asReader = await closed().post('/auth/totp/reset', { username: reader }, cookie)
    expect(asReader).toMatchObject({ status: 0 })
    expect(JSON.stringify(asReader)).toContain('No permission')
    const boss = await closed().cookieOf(BOSS, PASSWORD)
    const reset = await closed().post('/auth/totp/reset', { username: reader }, boss)
    expect(reset).toMatchObject({ status: 1 })
    expect(await get('/billapi/plans/get', cookie)).toContain('No user is logged in')
    const record = await closed().stores.catalog.audit.findOne({ type: 'totp_reset' })
    expect(record).toMatchObject({ key: `login_${reader}`, user: { name: BOSS } })
    const missing = await closed().post('/auth/totp/reset', { username: reader }, boss)
    expect(missing).toMatchObject({ status: 0, desc: 'there is no second factor of that user' })
  })
})

describe('the routes of the second factor', () => {
  it('are all listed, and refused without a session', async () => {
    const listed = ENDPOINTS.auth.filter(({ path }) => path.startsWith('/auth/totp'))
    expect(listed).toHaveLength(6)
    for (const { method, path } of listed) {
      const answers = method === 'GET' ? await get(path, '') : await closed().post(path, {})
      expect(JSON.stringify(answers)).toMatch(/[Nn]o(?:body| user) is logged in/)
    }
  })
})
