/** Access to charging over HTTP: keys, addresses, rates, and pages in a browser. */
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { Peer } from '../../../src/catalog/settings/peers/peers.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { accessOf, KINDS, serverOf, UNCOUNTED } from '../../support/realtime/http/server-of.ts'
import { openSocket } from '../../support/realtime/http/socket.ts'

const peerOf = (name: string, more: Partial<Peer> = {}): Peer => ({
  name,
  allowsAddress: () => true,
  requestsPerSecond: 0,
  burst: 0,
  fileTypes: null,
  certificateNames: [],
  diameter: null,
  ...more,
})
const byKey = { 'key-1': peerOf('PGW'), 'key-2': peerOf('SMSC') }

/** Sends a charge with these headers; the connection ends with the answer. */
function charge(
  port: number,
  headers: readonly string[],
  more: { host?: string; path?: string } = {},
) {
  const { host = '127.0.0.1', path = '/realtime' } = more
  const lines = [`POST ${path} HTTP/1.1`, 'Host: t', 'Connection: close', 'Content-Length: 2']
  return new Promise<{ status: number; text: string }>((resolve, reject) => {
    let text = ''
    const socket = connect({
      port,
      host: host === '127.0.0.2' ? '127.0.0.1' : host,
      localAddress: host,
    })
    socket.on('data', (bytes) => {
      text += bytes.toString()
    })
    socket.on('error', reject)
    socket.on('close', () => resolve({ status: Number(text.split(' ')[1]), text }))
    socket.write(`${[...lines, ...headers].join('\r\n')}\r\n\r\n{}`)
  })
}

describe.each(KINDS)('a key: %s', (kind) => {
  it.each([
    ['X-Api-Key: key-1', 'PGW'],
    ['x-api-key:key-2', 'SMSC'],
    ['Authorization: Bearer key-1', 'PGW'],
    ['authorization: bearer  key-2 ', 'SMSC'],
  ])('%s belongs to %s', async (header, name) => {
    const { port, arrivals } = await serverOf(kind, { authenticator: accessOf({ byKey }) })
    expect((await charge(port, [header])).status).toBe(200)
    expect(arrivals).toMatchObject([{ fileType: 'json', origin: name, peer: name }])
  })

  it.each([
    ['X-Api-Key: key-3', 'x-api-key'],
    ['X-Api-Key:', 'x-api-key'],
    ['X-Api-Key: constructor', 'x-api-key'],
    ['X-Api-Key: key-1\r\nX-Api-Key: key-1', 'x-api-key'],
    ['X-Api-Key: key-3\r\nAuthorization: Bearer key-1', 'x-api-key'],
    ['X-Api-Key: kéy-1', 'x-api-key'],
    [`X-Api-Key: ${'k'.repeat(3000)}`, 'x-api-key'],
    ['Authorization: Bearer key-3', 'authorization'],
    ['X-Api-Key: key-1\r\nAuthorization: Bearer key-3', 'x-api-key'],
    ['X-Api-Key: key-3\r\nAuthorization: Bearer key-1', 'x-api-key'],
    ['Authorization: Bearer', 'authorization'],
    ['Authorization: key-1', 'authorization'],
    ['Authorization:', 'authorization'],
    ['Authorization: Basic a2V5LTE=', 'authorization'],
  ])('%s is refused, also on loopback', async (header, field) => {
    const { port, bodies, refused } = await serverOf(kind, { authenticator: accessOf({ byKey }) })
    const { status, text } = await charge(port, [header])
    expect(status).toBe(401)
    expect(text).toMatch(/\r\nwww-authenticate: bearer\r\n/i)
    expect(text).toContain(`"desc":"Malformed request: ${field} has no key that is known"`)
    expect(text).not.toContain('key-')
    expect(bodies).toEqual([])
    expect(refused).toEqual([' credentials'])
  })

  it('that is refused is logged with its address, without the key, and counted', async () => {
    const lines: string[] = []
    const log = createLogger({
      name: 'test',
      level: 'warn',
      destination: { write: (line) => lines.push(line) },
    })
    const counted: unknown[][] = []
    const metrics = { tls: UNCOUNTED, refused: (...what: unknown[]) => counted.push(what) }
    const remote = { key: peerOf('PGW', { allowsAddress: () => false }) }
    const authenticator = accessOf({ byKey: remote })
    const { port } = await serverOf(kind, { authenticator, log, metrics })
    for (const key of ['wrong-1', 'wrong-2', 'key']) await charge(port, [`X-Api-Key: ${key}`])
    expect(counted).toEqual([
      ['', 'credentials', 'loopback'],
      ['', 'credentials', 'loopback'],
      ['PGW', 'address', 'loopback'],
    ])
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'warn', address: '127.0.0.1', cause: 'credentials', peer: '' },
      { level: 'warn', address: '127.0.0.1', cause: 'address', peer: 'PGW' },
    ])
    expect(lines.join('')).not.toContain('wrong-')
  })

  it('is required if everybody must have one, but not for health', async () => {
    const authenticator = accessOf({ byKey, mustAuthenticate: true })
    const { port, url, refused } = await serverOf(kind, { authenticator })
    const { status, text } = await charge(port, [])
    expect(status).toBe(401)
    expect(text).toMatch(/\r\nwww-authenticate: bearer\r\n/i)
    expect(text).toContain('authorization is required')
    expect(refused).toEqual([' unauthenticated'])
    expect((await charge(port, ['X-Api-Key: key-1'])).status).toBe(200)
    // A client without a key cannot find out which file types exist.
    expect((await charge(port, [], { path: '/realtime/nobody' })).status).toBe(401)
    for (const path of ['live', 'ready']) {
      expect((await fetch(`${url}/health/${path}`)).status).toBe(200)
    }
  })

  it('that cannot be checked yet is an outage', async () => {
    const authenticator = accessOf({ byKey, areKnown: false })
    const { port, refused } = await serverOf(kind, { authenticator })
    const { status, text } = await charge(port, ['X-Api-Key: key-1'])
    expect(status).toBe(503)
    expect(text).toContain('"returnCode":-91')
    expect(text).toMatch(/\r\nretry-after: 1\r\n/i)
    expect(refused).toEqual([' unavailable'])
    expect((await charge(port, [])).status).toBe(200)
  })

  it('is restricted to the file types of its peer', async () => {
    const limited = { key: peerOf('PGW', { fileTypes: new Set(['gy', 'nobody']) }) }
    const authenticator = accessOf({ byKey: limited })
    const { port, bodies, refused } = await serverOf(kind, { authenticator })
    const ask = (path: string, ...more: string[]) =>
      charge(port, ['X-Api-Key: key', ...more], { path })
    expect((await ask('/realtime/gy')).status).toBe(200)
    expect((await ask('/realtime?file_type=gy')).status).toBe(200)
    for (const path of ['/realtime', '/realtime/json', '/realtime/off']) {
      const { status, text } = await ask(path)
      expect(status).toBe(403)
      expect(text).toContain('may not be used with this key')
    }
    const form = 'Content-Type: application/x-www-form-urlencoded'
    expect((await ask('/realtime', form)).status).toBe(403)
    expect((await ask('/realtime/nobody')).status).toBe(404)
    expect(bodies).toEqual(['{}', '{}'])
    expect(refused).toEqual(Array.from({ length: 4 }, () => 'PGW file_type'))
  })
})

describe.each(KINDS)('an address: %s', (kind) => {
  const listening = (host: string, allowed: string) => {
    const seen: string[] = []
    const allows = (address: string) => {
      seen.push(address)
      return address === allowed
    }
    const authenticator = accessOf({ byKey: { key: peerOf('PGW', { allowsAddress: allows }) } })
    return serverOf(kind, { host, authenticator }).then((server) => ({ ...server, seen }))
  }

  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.2'],
    ['::', '127.0.0.1'],
    ['::', '127.0.0.2'],
    ['::1', '::1'],
    ['::', '::1'],
  ])('is checked by a server on %s: %s', async (listenHost, host) => {
    const good = await listening(listenHost, host)
    expect((await charge(good.port, ['X-Api-Key: key'], { host })).status).toBe(200)
    expect(good.seen).toEqual([host])
    const bad = await listening(listenHost, '192.0.2.1')
    const { status, text } = await charge(bad.port, ['X-Api-Key: key'], { host })
    expect(status).toBe(403)
    expect(text).toContain('address is not one that may use this key')
    expect([bad.bodies, bad.refused]).toEqual([[], ['PGW address']])
  })
})

describe.each(KINDS)('a rate: %s', (kind) => {
  it('that is exceeded is answered with 429 until there is room; others continue', async () => {
    let elapsedMs = 5_000
    const keys = {
      slow: peerOf('SLOW', { requestsPerSecond: 0.5, burst: 1 }),
      other: peerOf('OTHER'),
    }
    const authenticator = accessOf({ byKey: keys, elapsedMs: () => elapsedMs })
    const { port, refused } = await serverOf(kind, { authenticator })
    const ask = (key: string) => charge(port, [`X-Api-Key: ${key}`])
    expect((await ask('slow')).status).toBe(200)
    const { status, text } = await ask('slow')
    expect(status).toBe(429)
    expect(text).toMatch(/\r\nretry-after: 2\r\n/i)
    expect(text).toContain('"returnCode":-90')
    expect(text).toContain('rate is over 0.5 requests a second')
    expect((await ask('other')).status).toBe(200)
    expect((await charge(port, [])).status).toBe(200)
    elapsedMs += 1_999
    expect((await ask('slow')).status).toBe(429)
    elapsedMs += 1
    expect((await ask('slow')).status).toBe(200)
    expect(refused).toEqual(['SLOW rate', 'SLOW rate'])
  })
})

describe.each(KINDS)('a page in a browser: %s', (kind) => {
  const HEADERS = [
    'Origin: http://evil.example',
    'Origin: null',
    'Origin:',
    'Sec-Fetch-Site: cross-site',
    'sec-fetch-site: same-origin',
  ]

  it.each(HEADERS)('with %s is not charged unless it authenticates', async (header) => {
    const { port, bodies, refused } = await serverOf(kind, { authenticator: accessOf({ byKey }) })
    const { status, text } = await charge(port, [header])
    expect(status).toBe(403)
    expect(text).toContain('origin is a page in a browser, which must authenticate')
    expect(text.toLowerCase()).not.toContain('access-control')
    expect([bodies, refused]).toEqual([[], [' browser']])
    expect((await charge(port, [header, 'X-Api-Key: key-1'])).status).toBe(200)
  })
})

describe.each(KINDS)('a site whose name resolves to this machine: %s', (kind) => {
  /** The status of the answer to a request without a key, with this host. */
  const statusFor = async (port: number, host: string, more = '') => {
    const socket = openSocket(port)
    await socket.send(
      `POST /realtime HTTP/1.1\r\nHost: ${host}\r\n${more}Content-Length: 2\r\n\r\n{}`,
    )
    const answer = await socket.answer()
    socket.destroy()
    return answer
  }

  it.each([
    'evil.example',
    'evil.example:8080',
    '127.0.0.1.evil.example',
    'EVIL.example.',
    '1.2.3.x',
  ])('with the host %s is not charged unless it authenticates', async (host) => {
    const { port, bodies, refused } = await serverOf(kind, { authenticator: accessOf({ byKey }) })
    const answer = await statusFor(port, host)
    expect(answer?.status).toBe(403)
    expect(answer?.body).toContain('host is the name of a site')
    expect([bodies, refused]).toEqual([[], [' browser']])
    expect((await statusFor(port, host, 'X-Api-Key: key-1\r\n'))?.status).toBe(200)
  })

  it.each([
    'localhost',
    'localhost:80',
    'gw',
    'a.localhost:1',
    '127.0.0.1:9',
    '[::1]:80',
    '[::ffff:1.2.3.4]',
  ])('with the host %s is this machine or its own network', async (host) => {
    const { port } = await serverOf(kind, { authenticator: accessOf({ byKey }) })
    expect((await statusFor(port, host))?.status).toBe(200)
  })

  it('may have any name if the operator has opened the port to the network', async () => {
    const authenticator = accessOf({ byKey, isForThisMachine: false })
    const { port } = await serverOf(kind, { authenticator })
    expect((await statusFor(port, 'charging.example.net'))?.status).toBe(200)
  })
})

describe.each(KINDS)('a client without a key: %s', (kind) => {
  it('receives the same answer for each file type, known or not, however it is named', async () => {
    const authenticator = accessOf({ byKey, mustAuthenticate: true })
    const { port } = await serverOf(kind, { authenticator })
    const paths = ['', '/json', '/xml', '/nobody', '/off', '/broken', '/later', '?file_type=nobody']
    const answers = new Set<string>()
    for (const path of [...paths, '?file_type=%zz', '?file_type=a&file_type=b', '/__proto__']) {
      for (const method of ['POST', 'GET', 'PUT']) {
        const socket = openSocket(port)
        await socket.send(
          `${method} /realtime${path} HTTP/1.1\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}`,
        )
        const answer = await socket.answer()
        answers.add(`${answer?.status} ${answer?.body}`)
        socket.destroy()
      }
    }
    expect(answers.size).toBe(1)
    expect([...answers][0]).toMatch(/^401 /)
  })

  it('shares one rate for all file types and ways to name them', async () => {
    const limited = { key: peerOf('PGW', { requestsPerSecond: 1, burst: 2 }) }
    const { port } = await serverOf(kind, { authenticator: accessOf({ byKey: limited }) })
    const paths = [
      '/realtime/json',
      '/realtime/nobody',
      '/realtime?file_type=json',
      '/realtime/xml',
    ]
    const statuses = []
    for (const path of paths) {
      statuses.push((await charge(port, ['X-Api-Key: key'], { path })).status)
    }
    expect(statuses).toEqual([200, 404, 429, 429])
  })
})

describe.each(KINDS)('HTTP caches: %s', (kind) => {
  it.each([
    '/realtime/asked?request=%7B%7D',
    '/realtime/nobody',
    '/realtime',
    '/x',
    '/health/live',
  ])('may not store the answer to GET %s', async (path) => {
    const { url } = await serverOf(kind)
    const answer = await fetch(url + path)
    expect(answer.headers.get('cache-control')).toBe('no-store')
  })
})

describe('several ways to authenticate', () => {
  const ask = (found: readonly ('none' | 'invalid' | 'unavailable' | Peer)[]) => {
    const asked: number[] = []
    const checks = found.map((one, index) => () => {
      asked.push(index)
      return one
    })
    const authenticator = accessOf({ byKey }, checks)
    const head = headOf({ authorization: 'Bearer x' })
    const { refused } = authenticator.authenticate(head, {
      remoteAddress: () => '127.0.0.1',
      certificateNames: () => null,
    })
    return { refused, asked }
  }

  it('are tried in order until one knows the peer', () => {
    expect(ask(['none', 'invalid', peerOf('A'), peerOf('B')])).toEqual({
      refused: 0,
      asked: [0, 1, 2],
    })
    expect(ask(['unavailable', peerOf('A')]).refused).toBe(0)
  })

  it('refuse if none of them knows the peer; an outage is not a refusal', () => {
    expect(ask(['none', 'none']).refused).toBe(401)
    expect(ask(['invalid', 'none']).refused).toBe(401)
    expect(ask(['invalid', 'unavailable', 'none']).refused).toBe(503)
  })
})

function headOf(more: { authorization: string }) {
  const framing = { lengths: 0, length: '', encodings: 0, encoding: '', hosts: 1, isOld: false }
  const address = { method: 'POST', path: '/realtime', query: '', contentType: '' }
  return {
    ...address,
    ...more,
    apiKey: null,
    host: '',
    isBrowser: false,
    framing,
    readsChunks: true,
  }
}
