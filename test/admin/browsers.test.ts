import { describe, expect, it } from 'vitest'
import { refuseCrossSite } from '../../src/admin/browsers.ts'
import type { ListedOrigins } from '../../src/admin/cors.ts'
import { CatalogUnavailableError } from '../../src/catalog/errors.ts'
import { bareServer, type SETTINGS, sendRaw } from '../support/admin/bare.ts'

const NO_ORIGINS: ListedOrigins = async () => new Set()
const CRM = 'https://crm.example.net'

type Admin = Parameters<typeof refuseCrossSite>[1]

async function guarded(
  admin: Partial<Admin> = {},
  listed: ListedOrigins = NO_ORIGINS,
  settings: Partial<typeof SETTINGS> = {},
) {
  const whole: Admin = { host: '127.0.0.1', openTo: 'nobody', hostNames: [], ...admin }
  const { port } = await bareServer((server) => {
    refuseCrossSite(server, whole, listed)
    server.get('/page', async () => ({ status: 1 }))
    server.post('/page', async () => ({ status: 1 }))
    server.post('/auth/saml/:name/acs', async () => ({ status: 1 }))
    server.get('/auth/saml/:name/acs', async () => ({ status: 1 }))
    server.post('/auth/saml/:name/metadata', async () => ({ status: 1 }))
  }, settings)
  const ask = async (line: string, headers: Record<string, string> = {}) => {
    const all = { host: `127.0.0.1:${port}`, ...headers }
    const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
    return sendRaw(port, `${line} HTTP/1.1\r\n${lines.join('')}\r\n`)
  }
  return { port, ask }
}

describe('a page of another site', () => {
  it.each<[headers: Record<string, string>, line: string]>([
    [{ origin: CRM }, 'GET /page'],
    [{ origin: CRM }, 'POST /page'],
    [{ origin: 'null' }, 'POST /page'],
    [{ origin: '' }, 'POST /page'],
    [{ origin: 'http://127.0.0.1' }, 'POST /page'],
    [{ origin: 'file://' }, 'POST /page'],
    [{ 'sec-fetch-site': 'cross-site' }, 'GET /page'],
    [{ 'sec-fetch-site': 'same-site' }, 'POST /page'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'POST /page'],
    [{ 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors' }, 'GET /page'],
    [{ origin: CRM, 'access-control-request-method': 'POST' }, 'OPTIONS /page'],
    [{ origin: CRM }, 'GET /nowhere'],
  ])('that sends %j with %s is refused, and may read nothing', async (headers, line) => {
    const { ask } = await guarded()
    const answer = await ask(line, headers)
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 0, code: 403 })
    const names = [...(answer?.headers.keys() ?? [])]
    expect(names.filter((name) => name.startsWith('access-control-'))).toEqual([])
    expect(answer?.headers.get('vary')).toBe('Origin')
  })

  it('may link to a page that only displays something', async () => {
    const { ask } = await guarded()
    const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
    expect((await ask('GET /page', link))?.status).toBe(200)
  })

  it('differs from a page of the node and from a program', async () => {
    const { port, ask } = await guarded()
    expect((await ask('POST /page'))?.status).toBe(200)
    const own = { origin: `http://127.0.0.1:${port}`, 'sec-fetch-site': 'same-origin' }
    expect((await ask('POST /page', own))?.status).toBe(200)
  })

  it('may send the form with which an identity provider answers, and no other', async () => {
    const { ask } = await guarded()
    for (const origin of [CRM, 'null']) {
      const form = { origin, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }
      const answer = await ask('POST /auth/saml/okta/acs', form)
      expect(answer?.status).toBe(200)
      expect(answer?.headers.has('access-control-allow-origin')).toBe(false)
      for (const line of [
        'GET /auth/saml/okta/acs',
        'POST /auth/saml/okta/metadata',
        'POST /auth/saml/okta/acs/',
        'POST //auth/saml/okta/acs',
        'POST /page?/auth/saml/okta/acs',
        'POST /page/../auth/saml/okta/acs',
        'POST /page;/auth/saml/okta/acs',
      ]) {
        expect((await ask(line, { origin }))?.status, line).toBe(403)
      }
    }
  })
})

describe('a trusted proxy', () => {
  const trusted = { trustedProxies: ['127.0.0.1'] }
  const through = { 'x-forwarded-host': 'crm.example.net', 'x-forwarded-proto': 'https' }
  const open = { hostNames: ['crm.example.net'] }

  it('reports the name by which a page was requested', async () => {
    const { ask } = await guarded(open, NO_ORIGINS, trusted)
    expect((await ask('POST /page', { ...through, origin: CRM }))?.status).toBe(200)
    // A page without TLS may have been injected on the way.
    const plain = { ...through, origin: 'http://crm.example.net' }
    expect((await ask('POST /page', plain))?.status).toBe(403)
  })

  it('is only recognised by its address', async () => {
    const { ask } = await guarded(open)
    expect((await ask('POST /page', { ...through, origin: CRM }))?.status).toBe(403)
  })
})

describe('the requested host name', () => {
  const statusOf = async (admin: Partial<Admin>, host: string) =>
    (await (await guarded(admin)).ask('GET /page', { host }))?.status

  it.each([
    ['127.0.0.1', 200],
    ['127.0.0.1:8182', 200],
    ['LOCALHOST:8182', 200],
    ['[::1]:8182', 200],
    ['rebound.evil.test', 403],
    ['localhost.evil.test:8182', 403],
    ['127.0.0.1.evil.test', 403],
    ['192.168.1.1', 403],
    ['[::1', 400],
    ['a@127.0.0.1', 400],
    ['', 403],
  ])('%j on loopback: %i', async (host, status) => {
    expect(await statusOf({}, host)).toBe(status)
    expect(await statusOf({ openTo: 'loopback' }, host)).toBe(status)
  })

  it.each([
    ['crm.example.net', 200],
    ['CRM.example.net:443', 200],
    ['node-1:8182', 200],
    ['10.2.3.4:8182', 200],
    ['[2001:db8::7]', 200],
    ['rebound.evil.test', 403],
    ['crm.example.net.evil.test', 403],
    ['localhost', 403],
    ['', 403],
  ])('%j where others reach it, with a list of names: %i', async (host, status) => {
    const admin = { host: 'node-1', hostNames: ['crm.example.net'] }
    expect(await statusOf(admin, host)).toBe(status)
    expect(await statusOf({ ...admin, openTo: 'network' }, host)).toBe(status)
  })

  it('may be any where others reach it and none is listed, or loopback is opened', async () => {
    expect(await statusOf({ host: '0.0.0.0' }, 'whatever.test')).toBe(200)
    expect(await statusOf({ openTo: 'network' }, 'whatever.test')).toBe(200)
    expect(await statusOf({ hostNames: ['crm.example.net'] }, 'crm.example.net')).toBe(200)
  })
})

describe('an unavailable store', () => {
  it('leads to a refusal of pages of other sites, and of no other callers', async () => {
    const { ask } = await guarded({}, async () => {
      throw new CatalogUnavailableError('read security', new Error('SECRET'))
    })
    const answer = await ask('POST /page', { origin: CRM })
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 0, code: 503 })
    expect(answer?.body).not.toContain('SECRET')
    expect((await ask('POST /page'))?.status).toBe(200)
  })
})
