/** A server of either kind for a test; closed after each test. */
import { afterEach } from 'vitest'
import type { Peer } from '../../../../src/catalog/settings/peers/peers.ts'
import type { ReceivedMessage } from '../../../../src/realtime/charge.ts'
import type { Codec } from '../../../../src/realtime/codecs/codec.ts'
import {
  type CredentialCheck,
  createAuthenticator,
  createKeyCheck,
} from '../../../../src/realtime/http/authenticate.ts'
import {
  type ClientAuthenticator,
  createClientAuthenticator,
} from '../../../../src/realtime/http/client-authenticator.ts'
import type { HttpServer, HttpTls } from '../../../../src/realtime/http/listening.ts'
import { createRateLimits } from '../../../../src/realtime/http/rate-limits.ts'
import { type HttpServerOptions, startHttpServer } from '../../../../src/realtime/http/server.ts'
import type {
  MessageFormat,
  MessageFormats,
  MissingMessageFormat,
} from '../../../../src/realtime/message-formats.ts'
import { createLogger } from '../../../../src/runtime/log.ts'
import type { TlsMetrics } from '../../../../src/runtime/tls-metrics.ts'
import { jsonCodec } from '../codecs/settings.ts'

export const KINDS = ['native', 'javascript'] as const
export type Kind = (typeof KINDS)[number]

export const BODY_BYTES_MAX = 65_536

const open: HttpServer[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

/** The plain JSON codec with a different error text. */
function codecOf(name: string, contentType: string): Codec<unknown> {
  return { ...jsonCodec, contentType, encodeError: ({ field, why }) => `${name}: ${field} ${why}` }
}

const plain: MessageFormat = {
  name: 'json',
  parser: 'json',
  codec: jsonCodec,
  allowsGet: false,
  wire: null,
}

const found = new Map<string, MessageFormat | MissingMessageFormat>(
  Object.entries({
    json: plain,
    xml: { ...plain, name: 'xml', parser: 'xml', codec: codecOf('xml', 'application/xml') },
    gy: { ...plain, name: 'gy', parser: 'diameter', codec: codecOf('gy', 'application/json') },
    pairs: {
      name: 'pairs',
      parser: 'key_value',
      codec: codecOf('pairs', 'text/plain'),
      allowsGet: true,
      wire: null,
    },
    asked: { ...plain, name: 'asked', codec: codecOf('asked', 'text/json'), allowsGet: true },
    off: { missing: 'disabled', why: 'is disabled' },
    broken: { missing: 'unusable', why: 'cannot be used: parser.type must be text' },
    later: { missing: 'notLoaded', why: 'is not known yet' },
  } satisfies Record<string, MessageFormat | MissingMessageFormat>),
)

/** Message formats of every kind, and reasons why one is missing. */
export const formats: MessageFormats = {
  defaultName: 'json',
  find: (name) => found.get(name) ?? { missing: 'unknown', why: 'is unknown' },
}

export interface AccessOptions {
  readonly byKey?: Readonly<Record<string, Peer>>
  /** By the name in a certificate. */
  readonly byCertificate?: Readonly<Record<string, Peer>>
  readonly mustAuthenticate?: boolean
  readonly isForThisMachine?: boolean
  /** False if the peers were never read. */
  readonly areKnown?: boolean
  readonly elapsedMs?: () => number
  readonly callers?: ClientAuthenticator
}

/** No client was ever read. */
export const NO_CALLERS = createClientAuthenticator({
  now: () => null,
  open: async () => Promise.reject(new Error('nothing is to be opened')),
  clock: { nowMs: () => 0 },
  elapsedMs: () => 0,
  log: createLogger({ name: 'test', level: 'silent' }),
})

/** The access check: the peers of these keys, and by default everybody without a key. */
export function accessOf(options: AccessOptions = {}, checks?: readonly CredentialCheck[]) {
  const {
    byKey = {},
    byCertificate = {},
    mustAuthenticate = false,
    areKnown = true,
    elapsedMs = () => 0,
  } = options
  const { isForThisMachine = true, callers = NO_CALLERS } = options
  const known = new Map(Object.entries(byKey))
  const peers = {
    byKey: (key: string) => known.get(key) ?? null,
    byCertificate: ([name = '']: readonly string[]) => byCertificate[name] ?? null,
  }
  return createAuthenticator({
    certificates: () => (areKnown ? peers : null),
    checks: checks ?? [createKeyCheck(() => (areKnown ? peers : null))],
    mustAuthenticate,
    isForThisMachine,
    rateLimits: createRateLimits(elapsedMs),
    clientAuthenticator: callers,
  })
}

/** Certificates that are not counted. */
export const UNCOUNTED: TlsMetrics = { used: () => undefined, reloaded: () => undefined }

/** `realtime.tls` with these files. */
export function tlsOf(
  files: { certFile: string; keyFile: string },
  more: Partial<HttpTls> = {},
): HttpTls {
  return {
    minVersion: 'TLSv1.2',
    ciphers: [],
    clientCaFile: '',
    clientCertificates: 'required',
    ...files,
    ...more,
  }
}

/** A server that answers each body with its size, in the next turn by default. */
export async function serverOf(httpServer: Kind, options: Partial<HttpServerOptions> = {}) {
  const bodies: string[] = []
  const arrivals: Omit<ReceivedMessage<string>, 'body' | 'codec' | 'refuseOverRate'>[] = []
  const refused: string[] = []
  const server = await startHttpServer({
    host: '127.0.0.1',
    port: 0,
    sharing: null,
    tls: null,
    httpServer,
    connectionsMax: 1000,
    log: createLogger({ name: 'test', level: 'silent' }),
    bodyBytesMax: BODY_BYTES_MAX,
    authenticator: accessOf(),
    messageFormats: formats,
    charge: ({ body, codec: _codec, refuseOverRate, ...rest }, answer) => {
      if (refuseOverRate !== null) {
        refuseOverRate()
        return
      }
      const text = body.toString('utf8')
      bodies.push(text)
      arrivals.push(rest)
      setImmediate(() => answer('granted', `{"size":${text.length}}`))
    },
    encodeRefusal: jsonCodec.encodeRefusal,
    metrics: { tls: UNCOUNTED, refused: (peer, cause) => refused.push(`${peer} ${cause}`) },
    isReady: () => true,
    ...options,
  })
  open.push(server)
  const url = `http://127.0.0.1:${server.port}`
  return { server, bodies, arrivals, refused, url, port: server.port }
}
