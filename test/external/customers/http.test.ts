import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { CustomerSystemError } from '../../../src/external/customers/errors.ts'
import {
  type Authentication,
  type CallSettings,
  type CustomerHttp,
  createCustomerHttp,
} from '../../../src/external/customers/http.ts'
import { type Crm, startCrm } from '../../support/external/crm.ts'
import { createAuthority, HAS_OPENSSL } from '../../support/realtime/diameter/certificates.ts'

const BYTES_MAX = 10_000
const open: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of open.splice(0)) await close()
})

async function start(tls?: { certFile: string; keyFile: string }): Promise<Crm> {
  const crm = await startCrm(tls)
  open.push(() => crm.close())
  return crm
}

function client(privateRanges = ['127.0.0.0/8', '::1']): CustomerHttp {
  const http = createCustomerHttp({ privateRanges, connectionsMax: 4 })
  open.push(() => http.close())
  return http
}

/** The named error with which a call fails. */
async function failureOf(http: CustomerHttp, call: CallSettings): Promise<CustomerSystemError> {
  const error = await http.post(call, { json: {} }, BYTES_MAX).catch((reason: unknown) => reason)
  if (error instanceof CustomerSystemError) return error
  throw new Error(`no named error: ${String(error)}`)
}

describe('a call', () => {
  it('posts JSON, or a form, and returns the parsed answer', async () => {
    const crm = await start()
    crm.respond = (response) => response.end('[{"aid":17}]')
    const http = client()
    expect(await http.post(crm.call('/x'), { json: { query: [] } }, BYTES_MAX)).toEqual([
      { aid: 17 },
    ])
    await http.post(crm.call('/x'), { form: { page: '0', aids: '1,2' } }, BYTES_MAX)
    const [json, form] = crm.requests
    expect([json?.headers['content-type'], json?.body]).toEqual([
      'application/json',
      '{"query":[]}',
    ])
    expect(form?.headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(form?.body).toBe('page=0&aids=1%2C2')
  })

  it.each([
    ['redirect', 302, ''],
    ['status', 500, ''],
    ['status', 429, ''],
    ['request', 404, ''],
    ['unauthorized', 401, ''],
    ['not JSON', 200, '{secret of a customer'],
    ['not JSON', 200, ''],
    ['too large', 200, JSON.stringify('x'.repeat(BYTES_MAX))],
  ])('fails with the kind "%s" for status %i and %j', async (kind, status, body) => {
    const crm = await start()
    crm.respond = (response) => {
      response.writeHead(status, { location: 'http://127.0.0.1:1/elsewhere' })
      response.end(body)
    }
    const error = await failureOf(client(), crm.call('/x'))
    expect(error.kind).toBe(kind)
    expect(`${error.message} ${JSON.stringify(error)}`).not.toMatch(/secret|elsewhere|127\.0/)
    expect(crm.requests).toHaveLength(1)
  })

  it('stops reading an answer without an end at the limit of its size', async () => {
    const crm = await start()
    let isClosed = false
    crm.respond = (response) => {
      const timer = setInterval(() => response.write(' '.repeat(1000)), 1)
      response.once('close', () => {
        clearInterval(timer)
        isClosed = true
      })
    }
    expect((await failureOf(client(), crm.call('/x'))).kind).toBe('too large')
    await expect.poll(() => isClosed).toBe(true)
  })

  it('ends at its time limit, although the answer arrives byte by byte', async () => {
    const crm = await start()
    crm.respond = (response) => {
      const timer = setInterval(() => response.write(' '), 5)
      response.once('close', () => clearInterval(timer))
    }
    const error = await failureOf(client(), crm.call('/x', { timeoutMs: 150 }))
    expect(error).toMatchObject({
      kind: 'timeout',
      reason: 'its answer was not complete within 150 ms',
    })
  })

  it('fails if nothing listens, and if the connection ends early', async () => {
    const crm = await start()
    crm.respond = (response) => response.destroy()
    expect((await failureOf(client(), crm.call('/x'))).kind).toBe('unreachable')
    const call = crm.call('/x')
    await crm.close()
    expect((await failureOf(client(), call)).kind).toBe('unreachable')
  })

  it('is not made with invalid settings', async () => {
    const crm = await start()
    const error = await failureOf(client(), crm.call('/x', { problem: 'subscribers.x is missing' }))
    expect(error).toMatchObject({ kind: 'settings', reason: 'subscribers.x is missing' })
    expect(crm.requests).toEqual([])
  })
})

describe('private addresses', () => {
  it.each(['127.0.0.1', 'localhost', '[::ffff:127.0.0.1]', '0x7f000001', '2130706433'])(
    'are not called unless they are allowed: %s',
    async (host) => {
      const crm = await start()
      const { port } = new URL(crm.url)
      const call = crm.call('', { url: `http://${host}:${port}/x` })
      expect((await failureOf(client([]), call)).kind).toBe('address')
      expect((await failureOf(client(['10.0.0.0/8']), call)).kind).toBe('address')
      expect(crm.requests).toEqual([])
      await client().post(call, { json: {} }, BYTES_MAX)
      expect(crm.requests).toHaveLength(1)
    },
  )
})

describe('a private address with a port', () => {
  it('allows calls of this port by the address itself', async () => {
    const crm = await start()
    const { port } = new URL(crm.url)
    const http = client([`127.0.0.1:${port}`, `[::1]:1`])
    const urlOf = (host: string) => ({ url: `http://${host}/x` })
    await http.post(crm.call('', urlOf(`127.0.0.1:${port}`)), { json: {} }, BYTES_MAX)
    expect(crm.requests).toHaveLength(1)
    const others = [`127.0.0.1:${Number(port) + 1}`, '127.0.0.1', `127.0.0.2:${port}`, '[::1]:2']
    for (const host of [...others, `localhost:${port}`]) {
      expect((await failureOf(http, crm.call('', urlOf(host)))).kind).toBe('address')
    }
    expect(crm.requests).toHaveLength(1)
  })
})

describe('OAuth 2.0', () => {
  /** Issues T1, T2 and so on, and accepts those for which `accepts` is true. */
  async function tokenServer(accepts: (token: string) => boolean, expiresIn: unknown = 3600) {
    const crm = await start()
    let issued = 0
    crm.respond = (response, { path, headers }) => {
      if (path === '/token') {
        issued += 1
        response.end(JSON.stringify({ access_token: `T${issued}`, expires_in: expiresIn }))
      } else if (accepts(String(headers.authorization))) response.end('[]')
      else response.writeHead(401).end()
    }
    const authentication: Authentication = {
      type: 'oauth2',
      tokenUrl: `${crm.url}/token`,
      isCached: true,
      clientSecret: 's3cret',
      data: { grant_type: 'client_credentials', client_id: 'tollgate', scope: 'read' },
    }
    const call = crm.call('/x', { authentication })
    const paths = () => crm.requests.map(({ path }) => path)
    return { crm, call, paths, authentication }
  }

  it('gets one token for many calls', async () => {
    const { crm, call, paths } = await tokenServer((token) => token === 'Bearer T1')
    const http = client()
    const post = () => http.post(call, { json: {} }, BYTES_MAX)
    await Promise.all([post(), post(), post()])
    await post()
    expect(paths().filter((path) => path === '/token')).toHaveLength(1)
    expect(crm.requests[0]?.body).toBe(
      'grant_type=client_credentials&client_id=tollgate&scope=read&client_secret=s3cret',
    )
  })

  it('renews a refused token once, for all calls together', async () => {
    let valid = 'Bearer T1'
    const { call, paths } = await tokenServer((token) => token === valid)
    const http = client()
    const post = () => http.post(call, { json: {} }, BYTES_MAX)
    await post()
    valid = 'Bearer T2'
    await Promise.all([post(), post(), post()])
    expect(paths().filter((path) => path === '/token')).toHaveLength(2)
  })

  it('reports a system that refuses every token, after one renewal', async () => {
    const { call, paths } = await tokenServer(() => false)
    expect((await failureOf(client(), call)).kind).toBe('unauthorized')
    expect(paths()).toEqual(['/token', '/x', '/token', '/x'])
  })

  it('does not keep a token without a cache', async () => {
    const { call, paths, authentication } = await tokenServer(() => true)
    const http = client()
    const fresh = { ...call, authentication: { ...authentication, isCached: false } as const }
    await http.post(fresh, { json: {} }, BYTES_MAX)
    await http.post(fresh, { json: {} }, BYTES_MAX)
    expect(paths()).toEqual(['/token', '/x', '/token', '/x'])
  })

  it.each([
    ['403', (crm: Crm) => (crm.respond = (response) => response.writeHead(403).end())],
    ['401', (crm: Crm) => (crm.respond = (response) => response.writeHead(401).end())],
    ['no token', (crm: Crm) => (crm.respond = (response) => response.end('{}'))],
    [
      'a header in the token',
      (crm: Crm) => (crm.respond = (response) => response.end('{"access_token":"a\\r\\nx: y"}')),
    ],
  ])('names the token address if it answers with %s', async (_, fail) => {
    const { crm, call } = await tokenServer(() => true)
    fail(crm)
    const error = await failureOf(client(), call)
    expect(error.kind).toBe('token')
    expect(error.message).not.toContain('s3cret')
  })

  it('names the token address if it is away', async () => {
    const { crm, call } = await tokenServer(() => true)
    crm.respond = (response) => response.writeHead(503).end()
    const { kind, reason } = await failureOf(client(), call)
    expect([kind, reason]).toEqual(['status', 'token address: it answers with status 503'])
  })

  it('reports a secret that cannot be opened', async () => {
    const { crm, call, authentication } = await tokenServer(() => true)
    const lost = { ...authentication, clientSecret: null } as Authentication
    expect((await failureOf(client(), { ...call, authentication: lost })).kind).toBe('settings')
    expect(crm.requests).toEqual([])
  })
})

it('sends user and password', async () => {
  const crm = await start()
  crm.respond = (response) => response.end('[]')
  const authentication = { type: 'basic', username: 'ada', password: 'pass:wörd' } as const
  await client().post(crm.call('/x', { authentication }), { json: {} }, BYTES_MAX)
  const sent = String(crm.requests[0]?.headers.authorization).replace('Basic ', '')
  expect(Buffer.from(sent, 'base64').toString('utf8')).toBe('ada:pass:wörd')
})

describe.skipIf(!HAS_OPENSSL)('TLS', () => {
  it('trusts the given authority, and no other', async () => {
    const authority = createAuthority()
    const crm = await start(authority.issue('crm', 'localhost'))
    crm.respond = (response) => response.end('[]')
    const ca = readFileSync(authority.caFile, 'utf8')
    const http = client()
    await http.post(crm.call('/x', { ca }), { json: {} }, BYTES_MAX)
    expect((await failureOf(http, crm.call('/x'))).kind).toBe('certificate')
    const other = readFileSync(createAuthority().caFile, 'utf8')
    expect((await failureOf(http, crm.call('/x', { ca: other }))).kind).toBe('certificate')
    expect(crm.requests).toHaveLength(1)
  })

  it('refuses a certificate of another host, and one that has expired', async () => {
    const authority = createAuthority()
    const ca = readFileSync(authority.caFile, 'utf8')
    const elsewhere = await start(authority.issue('other', 'crm.example.net'))
    const error = await failureOf(client(), elsewhere.call('/x', { ca }))
    expect(error).toMatchObject({ kind: 'certificate' })
    expect(error.reason).toContain('ERR_TLS_CERT_ALTNAME_INVALID')
    const expired = expiredCertificate()
    const old = await start(expired)
    const call = old.call('/x', { ca: readFileSync(expired.certFile, 'utf8') })
    expect((await failureOf(client(), call)).reason).toContain('CERT_HAS_EXPIRED')
  })
})

/** A certificate of localhost that was valid in January 2020. */
function expiredCertificate(): { certFile: string; keyFile: string } {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-crm-'))
  const file = (name: string) => join(folder, name)
  const openssl = (...parts: string[]) => execFileSync('openssl', parts, { stdio: 'pipe' })
  const [certFile, keyFile, request] = [file('cert.pem'), file('key.pem'), file('csr.pem')]
  const name = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=DNS:localhost']
  openssl(
    'req',
    '-new',
    '-newkey',
    'rsa:2048',
    '-nodes',
    '-keyout',
    keyFile,
    '-out',
    request,
    ...name,
  )
  writeFileSync(file('index.txt'), '')
  writeFileSync(file('serial'), '01')
  writeFileSync(
    file('ca.cnf'),
    `[ca]\ndefault_ca=d\n[d]\ndatabase=${file('index.txt')}\nserial=${file('serial')}\n` +
      `new_certs_dir=${folder}\ndefault_md=sha256\npolicy=p\ncopy_extensions=copy\n` +
      '[p]\ncommonName=supplied\n',
  )
  const ca = ['ca', '-batch', '-config', file('ca.cnf'), '-selfsign', '-keyfile', keyFile]
  const dates = ['-startdate', '20200101000000Z', '-enddate', '20200201000000Z']
  openssl(...ca, '-in', request, '-out', certFile, ...dates)
  return { certFile, keyFile }
}
