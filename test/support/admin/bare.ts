/** A server of the control plane without stores, for tests that do not depend on the routes. */
import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
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
