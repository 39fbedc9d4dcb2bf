/** Every endpoint with every role, and without credentials. */
import { readFileSync, writeFileSync } from 'node:fs'
import { beforeAll, describe, expect, it } from 'vitest'
import { ENDPOINTS as DECLARED } from '../../../src/admin/endpoints.ts'
import { DEFINITIONS } from '../../../src/entities/definitions/collections.ts'
import type { RouteAccess } from '../../../src/identity/access.ts'
import { ACTION_ENDPOINTS, withPermissions } from '../../support/admin/permissions/page.ts'
import { startClosedAdmin } from '../../support/identity/closed-admin.ts'
import { useOpened } from '../../support/opened.ts'

const LEVELS = ['read', 'write', 'reports', 'admin'] as const
const cookies = new Map<string, string>()

const closed = useOpened(() => startClosedAdmin({ TOLLGATE_ADMIN_OPEN_PATHS: 'health' }))
beforeAll(async () => {
  for (const role of LEVELS) {
    const username = `${role}@example.org`
    await closed().addUser(username, 'a good password', [role])
    cookies.set(role, await closed().cookieOf(username, 'a good password'))
  }
})

interface Case {
  method: 'GET' | 'POST'
  path: string
  access: RouteAccess
}

/** The verdict on the caller, derived from the answer. */
type Verdict = 'nobody' | 'refused' | 'in'

async function ask({ method, path }: Case, headers: Record<string, string>): Promise<Verdict> {
  const body = method === 'POST' ? { body: new URLSearchParams({ query: '{}' }) } : {}
  const response = await fetch(`${closed().url}${path}`, { method, headers, ...body })
  const text = await response.text()
  const code = /^\{"status":0,"code":(\d+)/.exec(text)?.[1]
  if (response.status === 401 || code === '17574') return 'nobody'
  return code === '17575' ? 'refused' : 'in'
}

function expected(access: RouteAccess, role: string | null): Verdict {
  if (access === 'public') return 'in'
  if (role === null) return 'nobody'
  if (typeof access === 'string' || role === 'admin') return 'in'
  return access.includes(role) ? 'in' : 'refused'
}

const ENDPOINTS: readonly Case[] = [
  // Other public ones need their own parameters; only the access is tested here.
  ...DECLARED.auth.filter(
    ({ path, access }) => access !== 'public' || /^\/auth\/(?:options|login)$/.test(path),
  ),
  ...DECLARED.node.map((endpoint) =>
    endpoint.openPath === 'health' ? { ...endpoint, access: 'public' as const } : endpoint,
  ),
  ...DECLARED.settings.map((endpoint) =>
    endpoint.method === 'GET'
      ? { ...endpoint, path: '/api/settings?category=plans' }
      : { ...endpoint, path: '/api/settings?category=plans&action=set&data=%7B%7D' },
  ),
  ...[...DECLARED.payments, ...DECLARED.reports].map((endpoint) => ({
    ...endpoint,
    path: endpoint.path.replace(/:\w+/, 'none'),
  })),
  ...DECLARED.clock,
  ...ACTION_ENDPOINTS,
]

const ENTITY_ENDPOINTS: readonly Case[] = [...DEFINITIONS.values()].flatMap((definition) =>
  Object.entries(definition.actions).map(([action, { roles }]) => ({
    method: 'POST' as const,
    path: `/billapi/${definition.name}/${action}`,
    access: roles,
  })),
)

describe('every endpoint', () => {
  for (const role of [null, ...LEVELS]) {
    it(`lets in the right callers: ${role ?? 'nobody'}`, async () => {
      const headers: Record<string, string> =
        role === null ? {} : { cookie: cookies.get(role) ?? '' }
      const found: string[] = []
      const required: string[] = []
      for (const endpoint of [...ENDPOINTS, ...ENTITY_ENDPOINTS]) {
        const name = `${endpoint.method} ${endpoint.path}`
        found.push(`${name} ${await ask(endpoint, headers)}`)
        required.push(`${name} ${expected(endpoint.access, role)}`)
      }
      expect(found).toEqual(required)
    })
  }

  it('is closed for an invalid token and an invalid cookie', async () => {
    for (const endpoint of [...ACTION_ENDPOINTS.slice(0, 3), ...ENTITY_ENDPOINTS.slice(0, 12)]) {
      expect(await ask(endpoint, { authorization: `Bearer ${'a'.repeat(40)}` })).toBe('nobody')
      expect(await ask(endpoint, { cookie: `tollgate_session=${'b'.repeat(43)}` })).toBe('nobody')
    }
  })
})

describe('the default roles', () => {
  it.each([
    ['/billapi/users/create', 'write', 'refused'],
    ['/billapi/users/update', 'write', 'refused'],
    ['/billapi/users/delete', 'write', 'refused'],
    ['/billapi/accounts/create', 'read', 'refused'],
    ['/billapi/accounts/get', 'write', 'refused'],
    ['/billapi/accounts/get', 'read', 'in'],
    ['/billapi/accounts/create', 'write', 'in'],
    ['/api/bulkcredit', 'write', 'refused'],
    ['/api/credit', 'write', 'in'],
    ['/api/report', 'reports', 'in'],
  ] as const)('give %s as %s: %s', async (path, role, verdict) => {
    const headers = { cookie: cookies.get(role) ?? '' }
    expect(await ask({ method: 'POST', path, access: [] }, headers)).toBe(verdict)
  })
})

describe('rules of the operator', () => {
  it('replace the default roles', async () => {
    const rules = [
      { collection: 'accounts', actions: ['get'], roles: ['reports'] },
      { collection: 'api', actions: ['credit'], roles: ['admin'] },
    ]
    const get = { method: 'POST', path: '/billapi/accounts/get', access: [] } as const
    const credit = { method: 'POST', path: '/api/credit', access: [] } as const
    const as = (role: string) => ({ cookie: cookies.get(role) ?? '' })
    await closed().setting('permissions', { rules })
    expect(await ask(get, as('reports'))).toBe('in')
    const helper = { username: 'help@example.org', password: 'a good password', roles: ['support'] }
    const create = { update: JSON.stringify(helper) }
    const make = () => closed().post('/billapi/users/create', create, cookies.get('admin'))
    expect(await make()).toMatchObject({ status: 0, message: expect.stringContaining('reports') })
    await closed().setting('permissions', { rules: [{ ...rules[0], roles: ['support'] }] })
    expect(await make()).toMatchObject({ status: 1 })
    const { username, password } = helper
    const change = { username, password, new_password: 'a better password' }
    expect(await closed().post('/auth/password', change)).toMatchObject({ status: 1 })
    const cookie = await closed().cookieOf(username, change.new_password)
    expect(await ask(get, { cookie })).toBe('in')
    expect(await ask({ ...get, path: '/billapi/plans/get' }, { cookie })).toBe('refused')
    await closed().setting('permissions', { rules })
    expect(await ask(get, as('read'))).toBe('refused')
    expect(await ask(get, as('admin'))).toBe('in')
    expect(await ask(credit, as('write'))).toBe('refused')
    await closed().setting('permissions', { rules: 'none' })
    expect(await ask(get, as('read'))).toBe('refused')
    expect(await ask(get, as('admin'))).toBe('in')
    await closed().setting('permissions', { rules: [] })
    expect(await ask(get, as('read'))).toBe('in')
  })
})

describe('docs/ACCESS.md', () => {
  it('has the permissions of the tables', () => {
    const file = new URL('../../../docs/ACCESS.md', import.meta.url)
    const text = readFileSync(file, 'utf8')
    const page = withPermissions(text, DEFINITIONS)
    if (process.env['UPDATE_DOCS'] === '1') writeFileSync(file, page)
    else expect(text).toBe(page)
  })
})
