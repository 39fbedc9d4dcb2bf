import { chmodSync, readFileSync } from 'node:fs'
import { Agent, request } from 'node:https'
import { describe, expect, it } from 'vitest'
import { nextDescriptor } from '../../../src/realtime/descriptors.ts'
import { TlsFileError } from '../../../src/runtime/tls-files.ts'
import { useMade } from '../../support/opened.ts'
import {
  createAuthority,
  HAS_OPENSSL,
  unusableFiles,
} from '../../support/realtime/diameter/certificates.ts'
import { KINDS, serverOf, tlsOf } from '../../support/realtime/http/server-of.ts'
import { openSocket, post } from '../../support/realtime/http/socket.ts'

describe.runIf(HAS_OPENSSL).each(KINDS)('charging over TLS: %s', (kind) => {
  const authority = useMade(createAuthority)
  const tls = useMade(() => tlsOf(authority().issue('node', 'localhost')))
  const ca = useMade(() => readFileSync(authority().caFile, 'utf8'))

  /** A POST of JSON; the same agent keeps its connection. */
  const charge = (port: number, body: string, agent?: Agent): Promise<[number, string]> =>
    new Promise((resolve, reject) => {
      const headers = { 'content-type': 'application/json' }
      const options = { host: '127.0.0.1', port, path: '/realtime', method: 'POST', headers }
      const asked = request(
        { ...options, ca: ca(), servername: 'localhost', agent },
        (response) => {
          let text = ''
          response.on('data', (part) => {
            text += part
          })
          response.on('end', () => resolve([response.statusCode ?? 0, text]))
        },
      )
      asked.on('error', reject).end(body)
    })

  it('is answered as without TLS, on a persistent connection', async () => {
    const { port, bodies } = await serverOf(kind, { tls: tls() })
    const agent = new Agent({ keepAlive: true, maxSockets: 1 })
    for (const body of ['{"a":1}', '{"b":2}', `{"c":"${'x'.repeat(40_000)}"}`]) {
      expect(await charge(port, body, agent)).toEqual([200, `{"size":${body.length}}`])
    }
    expect(bodies).toHaveLength(3)
    agent.destroy()
  })

  it('is the only protocol of the port', async () => {
    const { port, bodies } = await serverOf(kind, { tls: tls() })
    const socket = openSocket(port)
    await socket.send(post('{"a":1}'))
    expect(await socket.answer()).toBeNull()
    expect(bodies).toEqual([])
    expect(await charge(port, '{"a":1}')).toEqual([200, '{"size":7}'])
  })

  it('does not start with unusable files, which are named', async () => {
    const { keyFile } = authority().issue('other')
    for (const { change, text } of unusableFiles('realtime.tls', tls(), keyFile)) {
      const refused = serverOf(kind, { tls: { ...tls(), ...change } })
      await expect(refused).rejects.toThrow(new TlsFileError(text))
    }
  })

  it('logs a warning if everybody may read the key', async () => {
    const lines: unknown[] = []
    const log = { warn: (...line: unknown[]) => lines.push(line), error: () => undefined } as never
    chmodSync(tls().keyFile, 0o600)
    await serverOf(kind, { tls: tls(), log })
    expect(lines).toEqual([])
    chmodSync(tls().keyFile, 0o644)
    await serverOf(kind, { tls: tls(), log })
    expect(lines).toEqual([[{ file: tls().keyFile }, expect.stringContaining('may read')]])
  })

  it.runIf(kind === 'native')('is shared by several event loops', async () => {
    const firstDescriptor = nextDescriptor()
    const first = await serverOf(kind, { tls: tls(), sharing: { isFirst: true, firstDescriptor } })
    const { port } = first
    const second = await serverOf(kind, {
      tls: tls(),
      port,
      sharing: { isFirst: false, firstDescriptor },
    })
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
