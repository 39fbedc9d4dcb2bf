/** Content encodings: what a client accepts, and the size of live figures. */
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { beforeAll, describe, expect, it } from 'vitest'
import { chooseEncoding, sendJson } from '../../src/admin/encodings.ts'
import { HISTORY_SECONDS, SampleRing } from '../../src/admin/live/history.ts'
import { LIVE_ENDPOINTS } from '../../src/admin/live/routes.ts'
import { numbersOf } from '../../src/admin/live/sample.ts'
import type { Figure, LiveSample } from '../../src/admin/live/sample-schema.ts'
import { createServer } from '../../src/admin/server.ts'
import { loadConfig } from '../../src/config/load.ts'
import { useOpened } from '../support/opened.ts'
import { silent } from '../support/recorder/accounts.ts'

/** 15 minutes of a node with three file types, whose rates vary; the same in each run. */
function fullHistory(): string {
  const example = LIVE_ENDPOINTS[0]?.answer.example
  const { details } = example as { details: LiveSample }
  const types = ['csv', 'json', 'xml'].map((name) => ({
    name,
    granted: 812,
    denied: 12,
    failed: 0,
  }))
  const sample = { ...details, file_types: types }
  const ring = new SampleRing()
  let state = 1
  const random = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  for (let second = 0; second < HISTORY_SECONDS; second += 1) {
    const varied = [...numbersOf(sample)].map(([name, value]): [string, Figure] => {
      const isRate = value !== null && RATES.test(name)
      return [name, isRate ? Math.round(value * (9500 + 1000 * random())) / 1000 : value]
    })
    ring.add(second * 1000, new Map(varied))
  }
  return JSON.stringify(ring.read(0))
}

/** Those that vary from second to second. */
const RATES = /^(?:requests|file_types|reservations|workers|loops)\b|recorded|backlog|age_s|open/

const HISTORY = fullHistory()

const server = useOpened(() => createServer(loadConfig({ env: {} }).admin, silent))
beforeAll(async () => {
  server().get('/', { config: { access: 'public' } }, (sent, reply) =>
    sendJson(sent, reply, HISTORY),
  )
  await server().listen({ port: 0, host: '127.0.0.1' })
})

/** As it comes: `fetch` would decompress. */
async function get(accepted: string | null, method: 'GET' | 'HEAD' = 'GET') {
  const { port } = server().server.address() as AddressInfo
  const headers = accepted === null ? {} : { 'accept-encoding': accepted }
  const sent = request({ port, host: '127.0.0.1', path: '/', method, headers }).end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  const parts: Buffer[] = []
  for await (const part of response) parts.push(part as Buffer)
  return { headers: response.headers, bytes: Buffer.concat(parts) }
}

describe('the encoding', () => {
  it.each([
    [undefined, null],
    ['', null],
    ['identity', null],
    ['deflate, zstd', null],
    ['br', 'br'],
    ['gzip', 'gzip'],
    ['GZIP', 'gzip'],
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip;q=0.8', 'gzip'],
    ['br ; q=0 , gzip', 'gzip'],
    ['br;q=0, gzip;q=0', null],
    ['br;q=x', null],
    ['*', 'br'],
    ['*;q=0', null],
    ['br;q=0, *', 'gzip'],
    ['identity, gzip;q=0.5', null],
    ['identity;q=0.5, gzip', 'gzip'],
    ['identity;q=0, gzip;q=0.1', 'gzip'],
  ])('for Accept-Encoding %j is %s', (accepted, encoding) => {
    const set: string[] = []
    const reply = { header: (...header: string[]) => set.push(header.join(': ')) }
    const sent = { headers: { ...(accepted !== undefined && { 'accept-encoding': accepted }) } }
    expect(chooseEncoding(sent, reply as never)).toBe(encoding)
    expect(set).toEqual(['vary: Origin, Accept-Encoding'])
  })
})

describe('15 minutes of live figures', () => {
  it.each([
    [null, undefined, (bytes: Buffer) => bytes, 200_000],
    ['gzip', 'gzip', gunzipSync, 35_000],
    ['br', 'br', brotliDecompressSync, 35_000],
  ] as const)('for Accept-Encoding %j come as %s', async (accepted, encoding, decode, bytesMax) => {
    const { headers, bytes } = await get(accepted)
    expect(headers['content-encoding']).toBe(encoding)
    expect(headers['content-type']).toBe('application/json; charset=utf-8')
    expect(headers['vary']).toMatch(/\bAccept-Encoding\b/)
    expect(Number(headers['content-length'])).toBe(bytes.length)
    expect(String(decode(bytes))).toBe(HISTORY)
    expect(bytes.length).toBeLessThan(bytesMax)
  })

  it('have the same headers for HEAD', async () => {
    const { headers, bytes } = await get('br', 'HEAD')
    expect([headers['content-encoding'], bytes.length]).toEqual(['br', 0])
  })
})
