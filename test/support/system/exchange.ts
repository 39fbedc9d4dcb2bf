/** Single requests to the running product, and access to its ledger and catalogue. */
import { type IncomingHttpHeaders, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { type Catalog, openCatalog } from '../../../src/catalog/connection.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { OwnerState } from '../../../src/domain/bucket.ts'
import { createLedger, type Ledger } from '../../../src/ledger/ledger.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../../src/store/redis.ts'

export type Fields = Readonly<Record<string, unknown>>

export interface Reply {
  status: number
  headers: IncomingHttpHeaders
  text: string
  returnCode: number
  desc: string
  grantedVolume: number
}

/** Sends one request on a connection of its own. Fields are sent as JSON, a text unchanged. */
export function post(
  port: number,
  body: Fields | string | Buffer,
  headers: Record<string, string> = {},
): Promise<Reply> {
  const bytes = typeof body === 'string' || Buffer.isBuffer(body) ? body : JSON.stringify(body)
  const given = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(bytes) }
  const where = { host: '127.0.0.1', port, path: '/realtime', method: 'POST', agent: false }
  return new Promise((resolve, reject) => {
    const sent = request({ ...where, headers: { ...given, ...headers } }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('error', reject)
      response.on('end', () => {
        const text = Buffer.concat(chunks).toString()
        const answer = { status: response.statusCode ?? 0, headers: response.headers, text }
        resolve({ ...JSON.parse(text), ...answer })
      })
    })
    sent.on('error', reject)
    sent.end(bytes)
  })
}

/** Sends the first bytes of a request that claims a length, and leaves the connection open. */
export function postPart(port: number, part: string, length: number): Promise<Socket> {
  const head = `POST /realtime HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n\r\n`
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1' })
    socket.on('error', reject)
    socket.write(`${head}${part}`, () => resolve(socket))
  })
}

export interface LedgerReader {
  ledger: Ledger
  /** The current state of an owner, once Redis answers. */
  ownerOf(aid: number, sid: number): Promise<OwnerState>
  close(): Promise<void>
}

const log = createLogger({ name: 'test', level: 'silent' })

export async function openLedgerReader(redisUrl: string): Promise<LedgerReader> {
  const settings = { url: redisUrl, commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
  const redis = openRedis(settings, log)
  const ledger = createLedger(redis, loadConfig({ env: {} }).ledger, 2)
  return {
    ledger,
    async ownerOf(aid, sid) {
      await waitForRedis(redis, 20_000)
      const [owner] = await ledger.load([{ aid, sid, sessionKeys: [] }])
      if (owner === undefined || owner instanceof Error) throw owner ?? new Error('no owner')
      return owner.state
    },
    close: () => redis.close(),
  }
}

/** Runs `work` with the catalogue of the product, on a connection of its own. */
export async function withCatalog<T>(
  { mongoUrl: url, database }: { mongoUrl: string; database: string },
  work: (catalog: Catalog) => Promise<T>,
): Promise<T> {
  const catalog = await openCatalog({ url, database, timeoutMs: 20_000, appName: 'test' })
  try {
    return await work(catalog)
  } finally {
    await catalog.close()
  }
}

/** A subscriber like those of the population, with other fields. */
export function subscriber(sid: number, aid: number, more: Fields = {}): Record<string, unknown> {
  const from = new Date(Date.UTC(2020, 0, 1))
  const to = new Date(Date.UTC(2170, 0, 1))
  return { type: 'subscriber', sid, aid, plan: 'DEMO_PREPAID', from, to, ...more }
}
