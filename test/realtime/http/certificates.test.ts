/** Client certificates for charging over HTTP: who must have one, and whom it authenticates. */
import { readFileSync } from 'node:fs'
import { type RequestOptions, request } from 'node:https'
import { connect } from 'node:tls'
import { beforeAll, describe, expect, it } from 'vitest'
import { hashOfKey } from '../../../src/catalog/settings/peers/peer-settings.ts'
import { compilePeers } from '../../../src/catalog/settings/peers/peers.ts'
import { createAuthenticator, createKeyCheck } from '../../../src/realtime/http/authenticate.ts'
import type { HttpTls } from '../../../src/realtime/http/listening.ts'
import { createRateLimits } from '../../../src/realtime/http/rate-limits.ts'
import type { HttpServerOptions } from '../../../src/realtime/http/server.ts'
import { useMade } from '../../support/opened.ts'
import { createAuthority, HAS_OPENSSL } from '../../support/realtime/diameter/certificates.ts'
import { NO_CALLERS, serverOf, tlsOf, UNCOUNTED } from '../../support/realtime/http/server-of.ts'
import { waitUntil } from '../../support/wait.ts'

type Files = { certFile: string; keyFile: string }
type ClientCredentials = Pick<RequestOptions, 'cert' | 'key'>

const keyOf = (key: string) => [{ sha256: hashOfKey(key), created: '2026-01-01T00:00:00Z' }]
const PEERS = [
  { name: 'pgw', certificate_names: ['PGW1.example.net', 'pgw2.example.net'], keys: keyOf('k1') },
  { name: 'smsc', keys: keyOf('k2') },
  { name: 'gw', diameter: { origin_host: 'gw.example.net' } },
  { name: 'far', certificate_names: ['far.example.net'], addresses: ['10.0.0.0/8'] },
]

describe.runIf(HAS_OPENSSL)('the certificate of a client', () => {
  const credentials: Record<string, ClientCredentials> = {}
  const authority = useMade(createAuthority)
  const server = useMade(() => authority().issue('node', 'localhost'))
  beforeAll(() => {
    const show = (name: string, files: Files) => {
      credentials[name] = { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) }
    }
    show('pgw', authority().issue('any', 'other.example.net', 'pgw1.example.NET'))
    show('common', authority().issue('pgw2.example.net'))
    show('hidden', authority().issue('pgw1.example.net', 'other.example.net'))
    show('gw', authority().issue('gw', 'gw.example.net'))
    show('far', authority().issue('far', 'far.example.net'))
    show('nobody', authority().issue('nobody', 'nobody.example.net'))
    show('several', authority().issue('several', 'gw.example.net', 'pgw1.example.net'))
    show('foreign', createAuthority().issue('foreign', 'pgw1.example.net'))
  })

  interface Options {
    how?: HttpTls['clientCertificates']
    mustAuthenticate?: boolean
    areKnown?: boolean
    more?: Partial<HttpServerOptions>
  }

  async function started(options: Options = {}) {
    const { how = 'required', mustAuthenticate = true, areKnown = true, more = {} } = options
    const peers = () => (areKnown ? compilePeers(PEERS) : null)
    const refused: unknown[][] = []
    const lines: { fields: Record<string, unknown>; text: string }[] = []
    const line = (fields: Record<string, unknown>, text: string) => lines.push({ fields, text })
    const authenticator = createAuthenticator({
      checks: [createKeyCheck(peers)],
      certificates: peers,
      mustAuthenticate,
      isForThisMachine: false,
      rateLimits: createRateLimits(() => 0),
      clientAuthenticator: NO_CALLERS,
    })
    const tls = tlsOf(server(), { clientCaFile: authority().caFile, clientCertificates: how })
    const { port, arrivals } = await serverOf('native', {
      httpServer: 'auto',
      tls,
      authenticator,
      metrics: { tls: UNCOUNTED, refused: (...what) => refused.push(what) },
      log: { info: line, warn: line, error: line } as never,
      ...more,
    })
    return { port, arrivals, refused, lines }
  }

  /** Status and text of the answer; 0 without one. */
  const charge = (
    port: number,
    client: ClientCredentials | undefined,
    headers: Record<string, string> = {},
  ): Promise<[status: number, text: string]> =>
    new Promise((resolve) => {
      const named = { host: '127.0.0.1', port, path: '/realtime', method: 'POST', agent: false }
      const ca = readFileSync(authority().caFile)
      const all = { 'content-type': 'application/json', ...headers }
      const options = { ...named, ca, servername: 'localhost', headers: all, ...client }
      const asked = request(options, (response) => {
        let text = ''
        response.on('data', (part) => {
          text += part
        })
        response.on('end', () => resolve([response.statusCode ?? 0, text]))
      })
      asked.on('error', () => resolve([0, ''])).end('{}')
    })

  it('needs HTTP in JavaScript, which is logged', async () => {
    const { lines } = await started()
    expect(lines).toEqual([
      {
        fields: { why: 'it does not expose client certificates' },
        text: 'uWebSockets.js cannot serve this TLS: HTTP is in JavaScript',
      },
    ])
    const native = started({ more: { httpServer: 'native' } })
    await expect(native).rejects.toThrow('it does not expose client certificates')
  })

  it.each([
    ['pgw', 'pgw'],
    ['common', 'pgw'],
    ['gw', 'gw'],
  ])('%s belongs to the peer %s, in any case', async (name, peer) => {
    for (const how of ['required', 'optional'] as const) {
      const { port, arrivals } = await started({ how })
      expect((await charge(port, credentials[name]))[0]).toBe(200)
      expect(arrivals).toMatchObject([{ origin: peer, peer }])
    }
  })

  it.each(['nobody', 'hidden', 'several'])('%s is not sufficient', async (name) => {
    const { port, arrivals, refused } = await started()
    expect((await charge(port, credentials[name]))[0]).toBe(401)
    expect(refused).toEqual([['', 'unauthenticated', 'loopback']])
    expect(arrivals).toEqual([])
  })

  it('is accepted from the addresses of its peer only', async () => {
    const { port, refused } = await started()
    expect((await charge(port, credentials['far']))[0]).toBe(403)
    expect(refused).toEqual([['far', 'address', 'loopback']])
  })

  it('is refused in the handshake if it is of another authority, or absent', async () => {
    const { port, arrivals, refused, lines } = await started()
    expect(await charge(port, credentials['foreign'])).toEqual([0, ''])
    expect(await charge(port, undefined, { 'x-api-key': 'k1' })).toEqual([0, ''])
    await waitUntil('both refusals', () => refused.length === 2)
    expect(refused.map(([peer, cause]) => [peer, cause])).toEqual([
      ['', 'certificate'],
      ['', 'certificate'],
    ])
    const whys = lines.slice(1).map(({ fields }) => fields['why'])
    expect(whys).toEqual([expect.stringMatching(/^certificate: /), 'certificate: is required'])
    expect(arrivals).toEqual([])
  })

  it('may be absent if it is optional, but not wrong', async () => {
    const { port, arrivals, refused } = await started({ how: 'optional' })
    expect((await charge(port, undefined))[0]).toBe(401)
    expect((await charge(port, undefined, { 'x-api-key': 'k1' }))[0]).toBe(200)
    expect(arrivals).toMatchObject([{ peer: 'pgw' }])
    expect(await charge(port, credentials['foreign'], { 'x-api-key': 'k1' })).toEqual([0, ''])
    expect(refused.at(-1)).toEqual(['', 'certificate', 'loopback'])
    expect(arrivals).toHaveLength(1)
  })

  it('may come with the key of the same peer, or of one without a certificate', async () => {
    const { port, arrivals, refused } = await started()
    const send = async (name: string, key: string) =>
      (await charge(port, credentials[name], { 'x-api-key': key }))[0]
    expect(await send('pgw', 'k1')).toBe(200)
    expect(await send('nobody', 'k2')).toBe(200)
    expect(arrivals).toMatchObject([{ peer: 'pgw' }, { peer: 'smsc' }])
    for (const [name, key] of [
      ['gw', 'k1'],
      ['nobody', 'k1'],
      ['pgw', 'k2'],
    ] as const) {
      expect(await send(name, key)).toBe(403)
    }
    expect(refused.map(([peer, cause]) => `${peer} ${cause}`)).toEqual([
      'pgw certificate',
      'pgw certificate',
      'smsc certificate',
    ])
    expect(await send('pgw', 'wrong')).toBe(401)
  })

  it('does not authenticate a page in a browser', async () => {
    const { port, refused } = await started({ mustAuthenticate: false })
    const [status] = await charge(port, credentials['pgw'], { origin: 'https://evil.example' })
    expect(status).toBe(403)
    expect(refused).toEqual([['', 'browser', 'loopback']])
  })

  it('is not accepted before peers have been read', async () => {
    const { port, refused } = await started({ areKnown: false })
    expect((await charge(port, credentials['pgw']))[0]).toBe(503)
    expect(refused).toEqual([['', 'unavailable', 'loopback']])
  })

  it('is valid for all requests of its connection', async () => {
    const { port, arrivals } = await started()
    const ca = readFileSync(authority().caFile)
    const named = { port, host: '127.0.0.1', ca, servername: 'localhost' }
    const socket = connect({ ...named, ...credentials['pgw'] })
    const head = 'POST /realtime HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n'
    for (let count = 1; count <= 3; count += 1) {
      socket.write(`${head}Content-Length: 2\r\n\r\n{}`)
      await waitUntil('the answer', () => arrivals.length === count)
    }
    socket.destroy()
    expect(arrivals.map(({ peer }) => peer)).toEqual(['pgw', 'pgw', 'pgw'])
  })
})
