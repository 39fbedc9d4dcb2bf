import { chmodSync, readFileSync, writeFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { connect } from 'node:tls'
import { beforeAll, describe, expect, it } from 'vitest'
import { nextDescriptor } from '../../../src/realtime/descriptors.ts'
import type { HttpTls } from '../../../src/realtime/http/listening.ts'
import { TlsFileError } from '../../../src/runtime/tls-files.ts'
import {
  type Authority,
  createAuthority,
  HAS_OPENSSL,
} from '../../support/realtime/diameter/certificates.ts'
import { KINDS, serverOf, tlsOf } from '../../support/realtime/http/server-of.ts'
import { openSocket, post } from '../../support/realtime/http/socket.ts'

type Files = { certFile: string; keyFile: string }

describe.runIf(HAS_OPENSSL).each(KINDS)('charging over TLS: %s', (kind) => {
  let authority: Authority
  let tls: HttpTls
  let ca: string
  beforeAll(() => {
    authority = createAuthority()
    tls = tlsOf(authority.issue('node', 'localhost'))
    ca = readFileSync(authority.caFile, 'utf8')
  })

  /** A POST of JSON; the same agent keeps its connection. */
  const charge = (port: number, body: string, agent?: Agent): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const options = { host: '127.0.0.1', port, path: '/realtime', method: 'POST', headers }
      const asked = request({ ...options, ca, servername: 'localhost', agent }, (response) => {
        let text = ''
        response.on('data', (part) => {
          text += part
        })
        response.on('end', () => resolve([response.statusCode ?? 0, text]))
      })
      asked.on('error', reject).end(body)
    })

  it('is answered as without TLS, on a persistent connection', async () => {
    const { port, bodies } = await serverOf(kind, { tls })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const body of ['{"a":1}', '{"b":2}', `{"c":"${'x'.repeat(40_000)}"}`]) {
      expect(await charge(port, body, agent)).toEqual([200, `{"size":${body.length}}`])
    }
    expect(bodies).toHaveLength(3)
    agent.destroy()
  })

  it('is the only protocol of the port', async () => {
    const { port, bodies } = await serverOf(kind, { tls })
    const socket = openSocket(port)
    await socket.send(post('{"a":1}'))
    expect(await socket.answer()).toBeNull()
    expect(bodies).toEqual([])
    expect(await charge(port, '{"a":1}')).toEqual([200, '{"size":7}'])
  })

  it.each(['TLSv1.1', 'TLSv1.2', 'TLSv1.3'] as const)(
    'has the versions of the configuration: %s',
    async (version) => {
      const { port } = await serverOf(kind, { tls })
      const versions = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' }
      const socket = connect({ port, host: '127.0.0.1', ca, servername: 'localhost', ...versions })
      const negotiated = await new Promise((resolve) => {
        socket.on('secureConnect', () => resolve(socket.getProtocol()))
        socket.on('error', () => resolve(null))
        socket.on('close', () => resolve(null))
      })
      expect(negotiated).toBe(version === 'TLSv1.1' ? null : version)
      socket.destroy()
    },
  )

  it('does not start with unusable files, which are named', async () => {
    const other = authority.issue('other')
    const nonsense = `${tls.certFile}.nonsense`
    writeFileSync(nonsense, 'SECRET')
    const rows: [change: Partial<Files>, text: string][] = [
      [{ certFile: '/nowhere' }, 'realtime.tls.certFile /nowhere cannot be read: ENOENT'],
      [{ certFile: nonsense }, `realtime.tls.certFile ${nonsense} has no certificate`],
      [
        { keyFile: nonsense },
        `realtime.tls.keyFile ${nonsense} has no private key without a passphrase`,
      ],
      [
        { keyFile: other.keyFile },
        `realtime.tls.keyFile ${other.keyFile} is not the key of the certificate`,
      ],
    ]
    for (const [change, text] of rows) {
      const refused = serverOf(kind, { tls: { ...tls, ...change } })
      await expect(refused).rejects.toThrow(new TlsFileError(text))
    }
  })

  it('logs a warning if everybody may read the key', async () => {
    const lines: unknown[] = []
    const log = { warn: (...line: unknown[]) => lines.push(line), error: () => undefined } as never
    chmodSync(tls.keyFile, 0o600)
    await serverOf(kind, { tls, log })
    expect(lines).toEqual([])
    chmodSync(tls.keyFile, 0o644)
    await serverOf(kind, { tls, log })
    expect(lines).toEqual([[{ file: tls.keyFile }, expect.stringContaining('may read')]])
  })

  it.runIf(kind === 'native')('is shared by several event loops', async () => {
    const firstDescriptor = nextDescriptor()
    const first = await serverOf(kind, { tls, sharing: { isFirst: true, firstDescriptor } })
    const { port } = first
    const second = await serverOf(kind, { tls, port, sharing: { isFirst: false, firstDescriptor } })
    for (let count = 0; count < 200; count += 1) {
      // A separate connection, because the system distributes connections.
      const agent = new Agent({ keepAlive: false })
      expect(await charge(port, '{"a":1}', agent)).toEqual([200, '{"size":7}'])
      if (first.bodies.length > 0 && second.bodies.length > 0) break
    }
    expect(first.bodies.length).toBeGreaterThan(0)
    expect(second.bodies.length).toBeGreaterThan(0)
  })
})
