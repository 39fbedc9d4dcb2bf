/** The description of the API is made once per change, for any number of requests; its page. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
import { API_PAGE_POLICY } from '../../src/admin/api-endpoints.ts'
import { addApiPages } from '../../src/admin/api-pages.ts'
import type { OpenApiDocument } from '../../src/admin/openapi/document.ts'
import { DEFAULT_FIELDS } from '../../src/entities/fields/defaults.ts'
import { bareServer } from '../support/admin/bare.ts'
import { DOCUMENT } from '../support/admin/openapi/answer-check.ts'
import { silent } from '../support/recorder/accounts.ts'

function pages() {
  const made: string[] = []
  const stored = { fields: { version: 1 } }
  const prepare = (server: FastifyInstance) =>
    addApiPages(
      server,
      {
        fields: {
          of: async ({ name }) => DEFAULT_FIELDS[name] ?? [],
          stored: async () => stored.fields,
        },
        openPaths: ['docs'],
        port: 8182,
        charging: () => {
          made.push('charging')
          return DOCUMENT
        },
        isAuthenticated: async ({ headers }) => headers.cookie !== undefined,
        make: (_, { baseUrl }) => {
          made.push(baseUrl)
          return { ...DOCUMENT, servers: [{ url: baseUrl, description: '' }] }
        },
      },
      silent,
    )
  return { made, stored, prepare }
}

const UNPACKED = [
  ['br', brotliDecompressSync],
  ['gzip', gunzipSync],
] as const
const SCRIPT_BYTES_MAX = 1_600_000

type Headers = Record<string, string>

/** `fetch` sets `Host` itself. */
async function get(port: number, path: string, headers: Headers = {}) {
  const sent = request({ port, path, headers, agent: false }).end()
  const [answer] = (await once(sent, 'response')) as [IncomingMessage]
  const bytes = Buffer.concat(await answer.toArray())
  return { status: answer.statusCode, sent: answer.headers, bytes }
}

describe('the description of the API', () => {
  it('is made once for all anonymous clients, whatever host they name', async () => {
    const { made, prepare } = pages()
    const { port } = await bareServer(prepare)
    const hosts = Array.from({ length: 12 }, (_, index) => `h${index}.example.org`)
    const all = await Promise.all(hosts.map((host) => get(port, '/openapi.json', { host })))
    expect(made).toEqual(['http://127.0.0.1:8182'])
    expect(new Set(all.map(({ sent }) => sent['etag'])).size).toBe(1)
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
  })

  it('is made again when the configured fields have changed', async () => {
    const { made, stored, prepare } = pages()
    const { port } = await bareServer(prepare)
    const headers = { cookie: 'x', host: 'node.example.org' }
    for (const _ of [1, 2]) await get(port, '/openapi.json', headers)
    expect(made).toEqual(['http://node.example.org'])
    stored.fields = { version: 2 }
    await Promise.all([1, 2].map(() => get(port, '/openapi.json', headers)))
    expect(made).toHaveLength(2)
  })

  it('is kept for a few hosts only', async () => {
    const { made, prepare } = pages()
    const { port } = await bareServer(prepare)
    const ask = (host: string) => get(port, '/openapi.json', { cookie: 'x', host })
    for (const host of ['a', 'b', 'c', 'd', 'e', 'd', 'e', 'a']) await ask(host)
    expect(made.map((url) => url.at(-1))).toEqual(['a', 'b', 'c', 'd', 'e', 'a'])
  })

  it('is compressed, and not sent again to a client that has it', async () => {
    const { port } = await bareServer(pages().prepare)
    const plain = await get(port, '/openapi.json')
    const { info } = JSON.parse(plain.bytes.toString()) as OpenApiDocument
    expect(info).toEqual(DOCUMENT.info)
    for (const [encoding, unpacked] of UNPACKED) {
      const { sent, bytes } = await get(port, '/openapi.json', { 'accept-encoding': encoding })
      expect(sent).toMatchObject({
        'content-encoding': encoding,
        'content-type': 'application/json; charset=utf-8',
        'cache-control': 'private, no-cache',
        vary: 'Origin, Accept-Encoding',
      })
      expect(unpacked(bytes).equals(plain.bytes)).toBe(true)
      const known = { 'accept-encoding': encoding, 'if-none-match': String(sent['etag']) }
      const again = await get(port, '/openapi.json', known)
      expect([again.status, again.bytes.length, again.sent['etag']]).toEqual([304, 0, sent['etag']])
    }
  })

  it('of charging is made once, when it is first asked for', async () => {
    const { made, prepare } = pages()
    const { port } = await bareServer(prepare)
    const path = '/openapi/realtime.json'
    const first = await get(port, path, { 'accept-encoding': 'gzip' })
    expect(first.sent).toMatchObject({ 'content-encoding': 'gzip' })
    expect(JSON.parse(gunzipSync(first.bytes).toString())).toMatchObject({ openapi: '3.1.0' })
    const known = { 'accept-encoding': 'gzip', 'if-none-match': String(first.sent['etag']) }
    expect((await get(port, path, known)).status).toBe(304)
    expect(made).toEqual(['charging'])
  })

  it('is asked for again after it could not be made', async () => {
    const { stored, prepare } = pages()
    const { port } = await bareServer(prepare)
    const headers = { cookie: 'x' }
    Object.defineProperty(stored, 'fields', {
      configurable: true,
      get() {
        throw new Error('MongoDB is away')
      },
    })
    expect((await get(port, '/openapi.json', headers)).status).toBe(500)
    Object.defineProperty(stored, 'fields', { value: {} })
    expect((await get(port, '/openapi.json', headers)).status).toBe(200)
  })
})

describe('the page', () => {
  it('is the same for all, without data, and runs only what the node serves', async () => {
    const { made, prepare } = pages()
    const { port } = await bareServer(prepare)
    const { sent, bytes } = await get(port, '/docs')
    expect(sent).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'private, no-cache',
      'content-security-policy': API_PAGE_POLICY,
    })
    expect(API_PAGE_POLICY).toMatch(/^default-src 'none'; script-src 'self';/)
    expect(API_PAGE_POLICY).not.toMatch(/unsafe-eval|https?:|\*/)
    const etag = String(sent['etag'])
    const again = await get(port, '/docs', { cookie: 'x', 'if-none-match': etag })
    expect([again.status, again.sent['etag'], made]).toEqual([304, etag, []])
    const page = String(bytes)
    expect(page).not.toMatch(/<style|style=|<script[^>]*>[^<]/)
    const addresses = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address)
    for (const address of addresses) {
      const { status } = await get(port, `/${address}`)
      expect([address, status]).toEqual([expect.stringMatching(/^(?:docs|openapi)[/.]/), 200])
    }
    expect(addresses).toHaveLength(5)
  })

  it('has its script compressed, cached for a year under the hash of its content', async () => {
    const { port } = await bareServer(pages().prepare)
    const [name = ''] =
      /docs\/scalar-[\w-]+\.js/.exec(String((await get(port, '/docs')).bytes)) ?? []
    const plain = await get(port, `/${name}`)
    expect(plain.sent['cache-control']).toBe('public, max-age=31536000, immutable')
    for (const [encoding, unpacked] of UNPACKED) {
      const { sent, bytes } = await get(port, `/${name}`, { 'accept-encoding': encoding })
      expect(sent['content-encoding']).toBe(encoding)
      expect(bytes.length).toBeLessThan(SCRIPT_BYTES_MAX)
      expect(unpacked(bytes).equals(plain.bytes)).toBe(true)
      const known = { 'accept-encoding': encoding, 'if-none-match': String(sent['etag']) }
      expect((await get(port, `/${name}`, known)).status).toBe(304)
    }
  })
})
