import { describe, expect, it } from 'vitest'
import { refuseCrossSite } from '../../src/admin/browsers.ts'
import { listedOrigins } from '../../src/admin/cors.ts'
import { createCurrentSettings } from '../../src/catalog/settings/current-settings.ts'
import { writeStoredConfig } from '../../src/catalog/settings/stored-config.ts'
import { bareServer } from '../support/admin/bare.ts'
import { useOpened } from '../support/opened.ts'
import { startTestStores } from '../support/recorder/accounts.ts'

const CRM = 'https://crm.example.net'
const POLL_MS = 500
let nowMs = Date.parse('2026-06-15T12:00:00Z')
const stores = useOpened(startTestStores)

/** Applies after the next poll of the settings. */
async function list(...origins: string[]): Promise<void> {
  const change = { nowMs, by: 'test' }
  await writeStoredConfig(
    stores().catalog,
    'security' as never,
    () => ({ cors: { origins } }),
    change,
  )
  nowMs += POLL_MS
}

async function site() {
  const clock = { nowMs: () => nowMs }
  const listed = listedOrigins(createCurrentSettings(stores().catalog, clock, POLL_MS))
  const admin = { host: '127.0.0.1', openTo: 'nobody', hostNames: [] } as const
  let calls = 0
  const { url } = await bareServer((server) => {
    refuseCrossSite(server, admin, listed)
    server.post('/page', async () => {
      calls += 1
      return { status: 1 }
    })
    server.get('/fails', async () => {
      throw new Error('no')
    })
  })
  const ask = (path: string, init: RequestInit) => fetch(url + path, init)
  return { ask, calls: () => calls }
}

/** The preflight of a browser before a request that a form could not send. */
const PREFLIGHT = {
  'access-control-request-method': 'POST',
  'access-control-request-headers': 'content-type,x-csrf-token',
  'sec-fetch-site': 'cross-site',
  'sec-fetch-mode': 'cors',
}

describe('a listed site', () => {
  it('may send and read, with its cookies, and no other site may read its answers', async () => {
    await list(CRM)
    const { ask, calls } = await site()
    const headers = { origin: CRM, 'sec-fetch-site': 'cross-site' }
    const answer = await ask('/page', { method: 'POST', headers })
    expect([answer.status, calls()]).toEqual([200, 1])
    expect(answer.headers.get('access-control-allow-origin')).toBe(CRM)
    expect(answer.headers.get('access-control-allow-credentials')).toBe('true')
    expect(answer.headers.get('vary')).toBe('Origin')
  })

  it('gets a positive preflight answer, without a call of the route', async () => {
    await list(CRM)
    const { ask, calls } = await site()
    for (const path of ['/page', '/nowhere']) {
      const answer = await ask(path, { method: 'OPTIONS', headers: { ...PREFLIGHT, origin: CRM } })
      expect([answer.status, await answer.text(), calls()]).toEqual([204, '', 0])
      expect(answer.headers.get('access-control-allow-origin')).toBe(CRM)
      expect(answer.headers.get('access-control-allow-methods')).toContain('POST')
      expect(answer.headers.get('access-control-allow-headers')).toContain('x-csrf-token')
      expect(answer.headers.get('vary')).toBe('Origin')
    }
  })

  it('reads errors too', async () => {
    await list(CRM)
    const { ask } = await site()
    for (const path of ['/fails', '/nowhere']) {
      const answer = await ask(path, { headers: { origin: CRM } })
      expect(answer.headers.get('access-control-allow-origin'), path).toBe(CRM)
    }
  })

  it('may be written with capitals, or with its default port', async () => {
    await list('https://CRM.Example.net:443')
    const { ask } = await site()
    const answer = await ask('/page', { method: 'POST', headers: { origin: CRM } })
    expect(answer.headers.get('access-control-allow-origin')).toBe(CRM)
  })

  it('is allowed as soon as it is stored, and only as long', async () => {
    await list()
    const { ask } = await site()
    const statusNow = async () =>
      (await ask('/page', { method: 'POST', headers: { origin: CRM } })).status
    expect(await statusNow()).toBe(403)
    await list(CRM)
    expect(await statusNow()).toBe(200)
    await list('https://other.example.net')
    expect(await statusNow()).toBe(403)
  })
})

describe('a site with a similar origin', () => {
  it.each([
    'null',
    '*',
    'http://crm.example.net',
    'https://crm.example.net:8443',
    'https://crm.example.net.evil.test',
    'https://evil-crm.example.net',
    'https://crm.example.net/',
    'https://crm.example.net, https://evil.test',
    'https://CRM.example.net',
    'https://me@crm.example.net',
  ])('%s is refused, with and without preflight', async (origin) => {
    await list(CRM, 'https://*.example.net', 'https://you@crm.example.net')
    const { ask, calls } = await site()
    for (const init of [
      { method: 'OPTIONS', headers: { ...PREFLIGHT, origin } },
      { method: 'POST', headers: { origin } },
    ]) {
      const answer = await ask('/page', init)
      expect([answer.status, calls()]).toEqual([403, 0])
      expect(answer.headers.get('access-control-allow-origin')).toBeNull()
    }
  })
})
