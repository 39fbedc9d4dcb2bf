import { chmodSync, readFileSync } from 'node:fs'
import { request } from 'node:https'
import { connect as connectTcp } from 'node:net'
import { describe, expect, it } from 'vitest'
import { AdminListenError } from '../../src/admin/listening.ts'
import { createServer } from '../../src/admin/server.ts'
import { bareServer, SETTINGS } from '../support/admin/bare.ts'
import { useMade } from '../support/opened.ts'
import {
  createAuthority,
  HAS_OPENSSL,
  unusableFiles,
} from '../support/realtime/diameter/certificates.ts'
import { openSocket } from '../support/realtime/http/socket.ts'
import { silent } from '../support/recorder/accounts.ts'

interface Answer {
  status: number
  headers: Record<string, unknown>
  body: string
}

describe.runIf(HAS_OPENSSL)('a control plane with TLS', () => {
  const authority = useMade(createAuthority)
  const files = useMade(() => authority().issue('admin', 'localhost'))
  const ca = useMade(() => readFileSync(authority().caFile, 'utf8'))

  const secure = (settings: Partial<typeof SETTINGS> = {}) =>
    bareServer((server) => server.get('/here', async ({ protocol }) => ({ protocol })), {
      tls: { ...SETTINGS.tls, enabled: true, ...files() },
      ...settings,
    })

  const get = (port: number, path: string, headers: Record<string, string> = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const options = { host: '127.0.0.1', port, path, headers, ca: ca(), servername: 'localhost' }
      const asked = request(options, (response) => {
        let body = ''
        response.on('data', (part) => {
          body += part
        })
        const { statusCode: status = 0 } = response
        response.on('end', () => resolve({ status, headers: response.headers, body }))
      })
      asked.on('error', reject).end()
    })

  it('answers by HTTPS, and sends Strict-Transport-Security', async () => {
    const { port } = await secure()
    for (const [path, status] of [
      ['/here', 200],
      ['/nowhere', 404],
    ] as const) {
      const answer = await get(port, path)
      expect(answer.status).toBe(status)
      expect(answer.headers).toMatchObject({
        'strict-transport-security': 'max-age=31536000',
        'x-frame-options': 'DENY',
      })
    }
    expect((await get(port, '/here')).body).toBe('{"protocol":"https"}')
  })

  it('sends it with the refusal of a head that is too large, too', async () => {
    const { port } = await secure()
    const answer = await get(port, '/here', { 'x-much': 'x'.repeat(33_000) })
    expect([answer.status, JSON.parse(answer.body).status]).toEqual([431, 0])
    expect(answer.headers['strict-transport-security']).toBe('max-age=31536000')
  })

  it('does not answer plain HTTP', async () => {
    const { port } = await secure()
    const socket = openSocket(port)
    await socket.send('GET /here HTTP/1.1\r\nHost: x\r\n\r\n')
    expect(await socket.answer()).toBeNull()
  })

  it('stops during a pending handshake', async () => {
    const { port, server } = await secure()
    const mute = connectTcp({ port, host: '127.0.0.1' })
    mute.on('error', () => undefined)
    await new Promise((resolve) => server.server.once('connection', resolve))
    await server.close()
    mute.destroy()
  })

  it('does not start with unusable files, which it names without their content', () => {
    const { keyFile } = authority().issue('other')
    for (const { change, text } of unusableFiles('admin.tls', files(), keyFile)) {
      const tls = { ...SETTINGS.tls, enabled: true, ...files(), ...change }
      const start = () => createServer({ ...SETTINGS, tls }, silent)
      expect(start).toThrow(AdminListenError)
      expect(start).toThrow(new AdminListenError(text))
    }
  })

  it('warns of a key that everybody may read', async () => {
    const lines: unknown[] = []
    const log = { warn: (...line: unknown[]) => lines.push(line), error: () => undefined } as never
    const tls = { ...SETTINGS.tls, enabled: true, ...files() }
    chmodSync(files().keyFile, 0o600)
    await createServer({ ...SETTINGS, tls }, log).close()
    expect(lines).toEqual([])
    chmodSync(files().keyFile, 0o644)
    await createServer({ ...SETTINGS, tls }, log).close()
    chmodSync(files().keyFile, 0o600)
    expect(lines).toEqual([[{ file: files().keyFile }, expect.stringContaining('may read')]])
  })
})
