/** The description of the API is made once per change, for any number of requests. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { describe, expect, it } from 'vitest'
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
    const all = await Promise.all(
      hosts.flatMap((host) => ['/openapi.json', '/docs'].map((url) => get(port, url, { host }))),
    )
    expect(made).toEqual(['http://127.0.0.1:8182'])
    expect(new Set(all.map(({ sent }) => sent['etag'])).size).toBe(2)
    expect(all.map(({ status }) => status)).toEqual(all.map(() => 200))
  })

  it('is made again when the configured fields have changed', async () => {
    const { made, stored, prepare } = pages()
    const { port } = await bareServer(prepare)
    const headers = { cookie: 'x', host: 'node.example.org' }
    for (const _ of [1, 2]) await get(port, '/openapi.json', headers)
    expect(made).toEqual(['http://node.example.org'])
    stored.fields = { version: 2 }
    await Promise.all(['/openapi.json', '/docs'].map((url) => get(port, url, headers)))
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
    for (const [encoding, unpacked] of [
      ['br', brotliDecompressSync],
      ['gzip', gunzipSync],
    ] as const) {
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
    expect((await get(port, '/docs', headers)).status).toBe(500)
    Object.defineProperty(stored, 'fields', { value: {} })
    expect((await get(port, '/docs', headers)).status).toBe(200)
  })
})
