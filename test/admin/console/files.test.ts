/** Files of the console over HTTP, and their sizes. */
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import type { FastifyInstance } from 'fastify'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { addConsole, CONSOLE_POLICY } from '../../../src/admin/console/files.ts'
import { createServer } from '../../../src/admin/server.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { HOUSE } from '../../house/tree.ts'
import { useFolder } from '../../support/opened.ts'
import { silent } from '../../support/recorder/accounts.ts'

const folder = useFolder()
let server: FastifyInstance
let page: string

beforeAll(async () => {
  const { buildConsole } = await import(pathToFileURL(join(HOUSE, 'scripts/console.mjs')).href)
  await buildConsole({ folder })
  const { admin } = loadConfig({ env: {} })
  server = createServer(admin, silent)
  addConsole(server, folder)
  await server.listen({ port: 0, host: '127.0.0.1' })
  page = String((await get('/')).bytes)
})
afterAll(async () => {
  await server.close()
})

const DECODERS: Readonly<Record<string, (bytes: Buffer) => Buffer>> = {
  br: brotliDecompressSync,
  gzip: gunzipSync,
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
}

/** As it comes: `fetch` would decompress. */
async function get(path: string, headers = {}, method: 'GET' | 'HEAD' = 'GET'): Promise<Received> {
  const { port } = server.server.address() as AddressInfo
  const sent = request({ port, host: '127.0.0.1', path, method, headers }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    bytes: Buffer.concat(parts),
  }
}

/** Address of the file with this name in the page, such as `main` for `console/main-Xy12.js`. */
function fileOf(name: string): string {
  const [path = ''] = new RegExp(`console/${name}-[\\w-]+\\.\\w+`).exec(page) ?? []
  return `/${path}`
}

describe('the page', () => {
  it('is never cached, runs only scripts of the node, and makes no markup of text', async () => {
    const { status, headers } = await get('/')
    expect(status).toBe(200)
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': CONSOLE_POLICY,
      'referrer-policy': 'same-origin',
      'x-content-type-options': 'nosniff',
    })
    expect(CONSOLE_POLICY).toContain("default-src 'none'; script-src 'self';")
    expect(CONSOLE_POLICY).toContain("require-trusted-types-for 'script'; trusted-types 'none'")
    expect(CONSOLE_POLICY).toContain("frame-src 'self'; form-action 'self';")
    expect(CONSOLE_POLICY).not.toContain('unsafe')
  })

  it('names its files relative to itself, without scripts or styles in it', () => {
    const addresses = [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, address]) => address)
    // The icon, the stylesheet, the first script and its imports.
    expect(addresses.length).toBeGreaterThanOrEqual(3)
    for (const address of addresses) expect(address).toMatch(/^console\/[\w-]+\.(?:js|css|svg)$/)
    expect(page).not.toMatch(/<style|style=|<script[^>]*>[^<]/)
  })
})

describe('its files', () => {
  it('are cached for a year under the hash of their content', async () => {
    const { headers } = await get(fileOf('main'))
    expect(headers['cache-control']).toBe('public, max-age=31536000, immutable')
    expect(headers['content-type']).toBe('text/javascript; charset=utf-8')
    expect((await get(fileOf('style'))).headers['content-type']).toBe('text/css; charset=utf-8')
    expect((await get(fileOf('icon'))).headers['content-type']).toBe('image/svg+xml')
  })

  it.each([
    ['br', 'br'],
    ['gzip, deflate, br', 'br'],
    ['gzip', 'gzip'],
    ['br;q=0, gzip;q=0.5', 'gzip'],
    ['*', 'br'],
    ['BR', 'br'],
    ['identity', undefined],
    ['br;q=0, gzip;q=0', undefined],
    ['', undefined],
  ])('for Accept-Encoding %j are sent as %s', async (accepted, encoding) => {
    const plain = (await get(fileOf('main'), { 'accept-encoding': 'identity' })).bytes
    const { headers, bytes } = await get(fileOf('main'), { 'accept-encoding': accepted })
    expect(headers['content-encoding']).toBe(encoding)
    expect(headers['vary']).toMatch(/\bAccept-Encoding\b/)
    expect(Number(headers['content-length'])).toBe(bytes.length)
    const decode = DECODERS[encoding ?? '']
    expect((decode?.(bytes) ?? bytes).equals(plain)).toBe(true)
  })

  it('are not sent again to a client that has them in the same encoding', async () => {
    const first = await get(fileOf('main'), { 'accept-encoding': 'br' })
    const etag = String(first.headers['etag'])
    const again = { 'accept-encoding': 'br', 'if-none-match': `"other", W/${etag}` }
    const second = await get(fileOf('main'), again)
    expect([second.status, second.bytes.length]).toEqual([304, 0])
    const other = await get(fileOf('main'), { 'accept-encoding': 'gzip', 'if-none-match': etag })
    expect(other.status).toBe(200)
  })

  it('are described by HEAD', async () => {
    const { status, headers, bytes: none } = await get(fileOf('main'), {}, 'HEAD')
    const { bytes } = await get(fileOf('main'))
    expect([status, none.length]).toEqual([200, 0])
    expect(Number(headers['content-length'])).toBe(bytes.length)
  })

  it.each(['/console/', '/console/main.js', '/console/..%2findex.html', '/console/index.html.br'])(
    '%s is none of them',
    async (url) => {
      const { status, bytes } = await get(url)
      expect([status, JSON.parse(String(bytes)).status]).toEqual([404, 0])
    },
  )
})

describe('sizes, compressed by br', () => {
  const sizeOf = async (url: string) => (await get(url, { 'accept-encoding': 'br' })).bytes.length
  const sumOf = async (urls: readonly string[]) => {
    return (await Promise.all(urls.map(sizeOf))).reduce((sum, bytes) => sum + bytes, 0)
  }
  const chunks = () => readdirSync(folder).filter((name) => name.endsWith('.js'))
  const first = () => ['/', fileOf('main'), fileOf('style'), fileOf('icon')]
  const chunk = (name: string) => {
    const names = chunks().filter((each) => each.startsWith(`${name}-`))
    return names.map((each) => `/console/${each}`)
  }

  it('the overview is at most 45 kB, and 75 kB with its charts', async () => {
    const overview = [...first(), ...chunk('overview')]
    expect(await sumOf(overview)).toBeLessThan(45_000)
    const plot = chunk('plot')
    expect(plot).toHaveLength(1)
    expect(await sumOf([...overview, ...plot])).toBeLessThan(75_000)
  })

  it('the whole is at most 160 kB, a chunk of a page 15 kB, words 18 kB', async () => {
    const all = chunks().map((name) => `/console/${name}`)
    expect(await sumOf([...new Set([...first(), ...all])])).toBeLessThan(160_000)
    for (const url of all.filter((each) => !/\/(?:main|plot)-/.test(each))) {
      expect(await sizeOf(url), url).toBeLessThan(/\/de-/.test(url) ? 18_000 : 15_000)
    }
  })
})
