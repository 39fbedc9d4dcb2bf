/** A server of the control plane without stores, for tests that do not depend on the routes. */
import type { FastifyInstance } from 'fastify'
import { expect, onTestFinished } from 'vitest'
import { listen } from '../../../src/admin/listening.ts'
import { createServer, type ServerSettings } from '../../../src/admin/server.ts'
import { openSocket, type RawAnswer } from '../realtime/http/socket.ts'
import { silent } from '../recorder/accounts.ts'

export const SETTINGS: ServerSettings = {
  tls: { enabled: false, certFile: '', keyFile: '', minVersion: 'TLSv1.2', ciphers: [] },
  trustedProxies: [],
  connectionsMax: 100,
  connectionsPerAddressMax: 100,
  requestTimeoutMs: 60_000,
  bodyTimeoutMs: 60_000,
  bodyBytesPerSecondMin: 1_000,
}

/** Listens on a free port of loopback until the test ends; `prepare` adds routes. */
export async function bareServer(
  prepare: (server: FastifyInstance) => void,
  settings: Partial<ServerSettings> = {},
  log: Parameters<typeof createServer>[1] = silent,
  metrics?: Parameters<typeof createServer>[2],
) {
  const server = createServer({ ...SETTINGS, ...settings }, log, metrics)
  onTestFinished(() => server.close())
  prepare(server)
  const port = await listen(server, { host: '127.0.0.1', port: 0 })
  return { server, port, url: `http://127.0.0.1:${port}` }
}

/** Sends raw text; null if the connection ended without an answer. */
export async function sendRaw(port: number, text: string): Promise<RawAnswer | null> {
  const socket = openSocket(port)
  await socket.send(text)
  const answer = await socket.answer()
  socket.destroy()
  return answer
}

/** Lines of requests to `pingRoutes`. */
export const HEAD = 'Host: 127.0.0.1\r\n'
export const JSON_POST = `POST /here HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\n`

export function pingRoutes(server: FastifyInstance): void {
  server.get('/here', async () => ({ status: 1 }))
  server.get('/health', { config: { inReserve: true } }, async () => ({ status: 'live' }))
  server.post('/here', async ({ body }) => ({ status: 1, body }))
}

export function expectError(answer: RawAnswer | null, code: number): void {
  expect(answer?.status).toBe(code)
  expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 0, code })
}

export function connectionsOf({ server }: FastifyInstance): Promise<number> {
  return new Promise((resolve, reject) => {
    server.getConnections((error, count) => (error === null ? resolve(count) : reject(error)))
  })
}
