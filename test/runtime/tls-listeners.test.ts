/** TLS on every port: versions, cipher suites, and replaced certificates. */
import {
  chmodSync,
  copyFileSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls'
import { afterEach, describe, expect, it } from 'vitest'
import { DEFAULT_CIPHERS } from '../../src/config/tls.ts'
import type { TlsMetrics } from '../../src/runtime/tls-metrics.ts'
import { bareServer, SETTINGS } from '../support/admin/bare.ts'
import { useMade } from '../support/opened.ts'
import {
  createAuthority,
  type CertificateFiles as Files,
  HAS_OPENSSL,
} from '../support/realtime/diameter/certificates.ts'
import { nodeOf } from '../support/realtime/diameter/node-of.ts'
import { serverOf, tlsOf } from '../support/realtime/http/server-of.ts'
import { waitUntil } from '../support/wait.ts'

type Limits = { minVersion?: 'TLSv1.2' | 'TLSv1.3'; ciphers?: readonly string[] }

interface RecordedListener {
  readonly port: number
  /** `section result` of each reload. */
  readonly reloads: string[]
  readonly lines: { text: string; problem?: string }[]
  /** Sends a request on an open connection; resolves when it is answered. */
  ask(socket: TLSSocket): Promise<void>
}

/** Log and metrics of a listener, recorded. */
function recorder() {
  const reloads: string[] = []
  const lines: RecordedListener['lines'] = []
  const metrics: TlsMetrics = {
    used: () => undefined,
    reloaded: (listener, result) => reloads.push(`${listener} ${result}`),
  }
  const line = (fields: { problem?: string }, text: string) => lines.push({ ...fields, text })
  const log = { info: line, warn: line, error: line } as never
  return { reloads, lines, metrics, log }
}

const http = (path: string) => (socket: TLSSocket) =>
  new Promise<void>((resolve, reject) => {
    socket.once('data', (bytes: Buffer) => {
      if (bytes.toString().startsWith('HTTP/1.1 200')) resolve()
      else reject(new Error(bytes.toString()))
    })
    socket.once('close', () => reject(new Error('closed')))
    socket.write(`GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`)
  })

const starts: Record<string, (files: Files, limits: Limits) => Promise<RecordedListener>> = {
  async admin(files, limits) {
    const { reloads, lines, metrics, log } = recorder()
    const tls = { ...SETTINGS.tls, enabled: true, ...files, ...limits }
    const routes = (server: Parameters<Parameters<typeof bareServer>[0]>[0]) => {
      server.get('/here', async () => ({}))
    }
    const { port } = await bareServer(routes, { tls }, log, { tls: metrics })
    return { port, reloads, lines, ask: http('/here') }
  },
  ...Object.fromEntries(
    (['native', 'javascript'] as const).map((kind) => [
      kind,
      async (files: Files, limits: Limits) => {
        const { reloads, lines, metrics: tls, log } = recorder()
        const isNative = kind === 'native'
        const { port } = await serverOf(kind, {
          httpServer: isNative ? 'auto' : kind,
          tls: tlsOf(files, limits),
          metrics: { tls, refused: () => undefined },
          log,
        })
        return { port, reloads, lines, ask: http('/health/live') }
      },
    ]),
  ),
  async diameter(files, limits) {
    const more = { minVersion: 'TLSv1.2', ciphers: [], clientCaFile: '', ...limits } as const
    const tls = { enabled: true, only: true, port: 0, ...files, ...more }
    const { node, lines, reloads } = await nodeOf({ settings: { tls } })
    const { cer } = await import('../support/realtime/diameter/raw-peer.ts')
    return {
      port: node.tlsPort,
      // A getter, because they are added later.
      get lines() {
        return lines.map(({ fields, text }) => ({ ...fields, text }))
      },
      reloads,
      ask: (socket) =>
        new Promise((resolve, reject) => {
          socket.once('data', () => resolve())
          socket.once('close', () => reject(new Error('closed')))
          socket.write(cer())
        }),
    }
  },
}

const sections: Record<string, string> = {
  admin: 'admin.tls',
  native: 'realtime.tls',
  javascript: 'realtime.tls',
  diameter: 'diameter.tls',
}

describe.runIf(HAS_OPENSSL).each(Object.keys(starts))('TLS of %s', (name) => {
  const start = (files: Files, limits: Limits = {}) =>
    starts[name]?.(files, limits) as Promise<RecordedListener>
  const authority = useMade(createAuthority)
  const files = useMade(() => authority().issue('first', 'localhost'))
  const ca = useMade(() => readFileSync(authority().caFile, 'utf8'))

  const sockets: TLSSocket[] = []
  afterEach(() => {
    for (const socket of sockets.splice(0)) socket.destroy()
  })
  /** Null if the handshake is refused. */
  const open = (port: number, options: ConnectionOptions = {}): Promise<TLSSocket | null> =>
    new Promise((resolve) => {
      const ciphers = 'ALL:@SECLEVEL=0'
      const named = { host: '127.0.0.1', ca: ca(), servername: 'localhost', ciphers }
      const socket = connect({ port, ...named, ...options })
      sockets.push(socket)
      socket.on('secureConnect', () => resolve(socket))
      socket.on('error', () => resolve(null))
      socket.on('close', () => resolve(null))
    })
  const spoken = async (port: number, options: ConnectionOptions) => {
    const socket = await open(port, options)
    return socket === null ? null : `${socket.getProtocol()} ${socket.getCipher().name}`
  }
  const only = (version: 'TLSv1' | 'TLSv1.1' | 'TLSv1.2' | 'TLSv1.3', ciphers?: string) => ({
    minVersion: version,
    maxVersion: version,
    ...(ciphers === undefined ? {} : { ciphers: `${ciphers}:@SECLEVEL=0` }),
  })
  const subjectOf = async (port: number) => {
    const socket = await open(port)
    return socket?.getPeerCertificate().subject.CN
  }

  it('starts at version 1.2, with forward secrecy and authenticated encryption only', async () => {
    const { port } = await start(files())
    for (const version of ['TLSv1', 'TLSv1.1'] as const) {
      expect(await spoken(port, only(version))).toBeNull()
    }
    for (const cipher of DEFAULT_CIPHERS.filter((each) => /ECDHE-ECDSA/.test(each))) {
      expect(await spoken(port, only('TLSv1.2', cipher))).toBe(`TLSv1.2 ${cipher}`)
    }
    const cbc = ['ECDHE-ECDSA-AES128-SHA', 'ECDHE-ECDSA-AES256-SHA384', 'ECDHE-ECDSA-AES128-SHA256']
    for (const cipher of cbc) expect(await spoken(port, only('TLSv1.2', cipher))).toBeNull()
    expect(await spoken(port, only('TLSv1.3'))).toMatch(/^TLSv1\.3 TLS_/)
  })

  it('with an RSA key accepts no key exchange without forward secrecy', async () => {
    const { port } = await start(authority().issueRsa('rsa', 'localhost'))
    for (const cipher of ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA']) {
      expect(await spoken(port, only('TLSv1.2', cipher))).toBeNull()
    }
  })

  it('starts at version 1.3 if configured', async () => {
    const { port } = await start(files(), { minVersion: 'TLSv1.3' })
    expect(await spoken(port, only('TLSv1.2'))).toBeNull()
    expect(await spoken(port, only('TLSv1.3'))).toMatch(/^TLSv1\.3 /)
  })

  it('uses only the configured cipher suites', async () => {
    const cipher = 'ECDHE-ECDSA-AES256-GCM-SHA384'
    const { port } = await start(files(), { ciphers: [cipher, 'TLS_AES_256_GCM_SHA384'] })
    expect(await spoken(port, only('TLSv1.2', cipher))).toBe(`TLSv1.2 ${cipher}`)
    const other = 'ECDHE-ECDSA-AES128-GCM-SHA256'
    expect(await spoken(port, only('TLSv1.2', other))).toBeNull()
    const short = { ...only('TLSv1.3'), ciphers: 'TLS_AES_128_GCM_SHA256' }
    expect(await spoken(port, short)).toBeNull()
    expect(await spoken(port, only('TLSv1.3'))).toBe('TLSv1.3 TLS_AES_256_GCM_SHA384')
  })

  it('uses weak cipher suites only by name, and logs a warning', async () => {
    const cipher = 'ECDHE-ECDSA-AES128-SHA'
    const listener = await start(files(), { ciphers: [cipher] })
    const { port } = listener
    expect(await spoken(port, only('TLSv1.2', cipher))).toBe(`TLSv1.2 ${cipher}`)
    expect(await spoken(port, only('TLSv1.2', 'ECDHE-ECDSA-AES256-GCM-SHA384'))).toBeNull()
    expect(await spoken(port, only('TLSv1.3'))).toMatch(/^TLSv1\.3 TLS_/)
    expect(listener.lines).toContainEqual(
      expect.objectContaining({ setting: `${sections[name]}.ciphers`, weak: [cipher] }),
    )
  })

  /** A pair of files in its own folder, to be replaced. */
  const copied = (pair: Files): Files => {
    const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'))
    const copy = { certFile: join(folder, 'cert.pem'), keyFile: join(folder, 'key.pem') }
    replace(copy, pair)
    return copy
  }
  const replace = (to: Files, from: Partial<Files>) => {
    for (const each of ['certFile', 'keyFile'] as const) {
      const source = from[each]
      if (source === undefined) continue
      copyFileSync(source, `${to[each]}.new`)
      chmodSync(`${to[each]}.new`, 0o600)
      renameSync(`${to[each]}.new`, to[each])
    }
  }

  it('presents a replaced certificate, while connections stay open', async () => {
    const pair = copied(files())
    const { port, reloads, ask } = await start(pair)
    const before = await open(port)
    expect(before?.getPeerCertificate().subject.CN).toBe('first')
    for (const [index, next] of ['second', 'third'].entries()) {
      replace(pair, authority().issue(next, 'localhost'))
      await waitUntil('the new certificate', () => reloads.length === index + 1)
      expect(await subjectOf(port)).toBe(next)
    }
    expect(reloads).toEqual(Array(2).fill(`${sections[name]} ok`))
    await ask(before as TLSSocket)
    await ask((await open(port)) as TLSSocket)
  })

  it('keeps the current one while files are incomplete or do not match', async () => {
    const pair = copied(files())
    const second = authority().issue('second', 'localhost')
    const listener = await start(pair)
    const { port, reloads } = listener
    replace(pair, { certFile: second.certFile })
    await waitUntil('the refusal', () => reloads.length === 1)
    expect(await subjectOf(port)).toBe('first')
    writeFileSync(pair.certFile, readFileSync(second.certFile, 'utf8').slice(0, 200))
    await waitUntil('the second refusal', () => reloads.length === 2)
    expect(await subjectOf(port)).toBe('first')
    expect(reloads).toEqual(Array(2).fill(`${sections[name]} failed`))
    const problems = listener.lines.flatMap(({ problem }) => problem ?? [])
    expect(problems).toEqual([
      `${sections[name]}.keyFile ${pair.keyFile} is not the key of the certificate`,
      `${sections[name]}.certFile ${pair.certFile} has no certificate`,
    ])
    replace(pair, second)
    await waitUntil('the new certificate', () => reloads.length === 3)
    expect(await subjectOf(port)).toBe('second')
    expect(reloads.at(-1)).toBe(`${sections[name]} ok`)
  })
})
