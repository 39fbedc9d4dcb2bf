import { once } from 'node:events'
import { describe, expect, it } from 'vitest'
import { errorHandler } from '../../src/admin/http/answer.ts'
import { readParameters, registerBodies } from '../../src/admin/http/body.ts'
import {
  bareServer,
  connectionsOf,
  expectError,
  HEAD,
  JSON_POST,
  pingRoutes,
} from '../support/admin/bare.ts'
import { openSocket } from '../support/realtime/http/socket.ts'

/** Sends one request on its own connection, which ends with the answer. */
async function healthOf(port: number, localAddress = '127.0.0.1'): Promise<void> {
  const socket = openSocket(port, localAddress)
  await socket.send(`GET /health HTTP/1.1\r\n${HEAD}\r\n`)
  expect(await socket.answer()).toMatchObject({ status: 200, body: '{"status":"live"}' })
  socket.destroy()
}

describe('many slow requests from one address', () => {
  const SLOW = `${JSON_POST}Content-Length: 9\r\n\r\n{`

  it('occupy no connection of others, and health answers even that address', async () => {
    const lines: unknown[] = []
    const log = { warn: (...line: unknown[]) => lines.push(line), error: () => undefined }
    const limits = { connectionsMax: 1000, connectionsPerAddressMax: 20 }
    const { port } = await bareServer(pingRoutes, limits, log as never)
    const slow = Array.from({ length: 300 }, () => openSocket(port))
    for (const socket of slow) await socket.send(SLOW)
    await healthOf(port)
    await healthOf(port, '127.0.0.2')
    const other = openSocket(port, '127.0.0.2')
    for (let again = 0; again < 2; again += 1) {
      await other.send(`GET /here HTTP/1.1\r\n${HEAD}\r\n`)
      expect((await other.answer())?.status).toBe(200)
    }
    const own = openSocket(port)
    await own.send(`GET /here HTTP/1.1\r\n${HEAD}\r\n`)
    expectError(await own.answer(), 429)
    const logged = { address: '127.0.0.1', connectionsPerAddressMax: 20 }
    expect(lines.slice(0, 1)).toEqual([
      [logged, 'too many connections to the control plane from one address'],
    ])
    for (const socket of [...slow, other, own]) socket.destroy()
  })

  it('and idle ones that fill the reserve do not block other addresses', async () => {
    const { port } = await bareServer(pingRoutes, { connectionsMax: 1 })
    const idle = Array.from({ length: 200 }, () => openSocket(port))
    for (const socket of idle) await socket.connected
    await healthOf(port)
    await healthOf(port, '127.0.0.2')
    for (const socket of idle) socket.destroy()
  })

  it('from a trusted proxy count as those of many clients', async () => {
    const limits = { connectionsPerAddressMax: 1, trustedProxies: ['127.0.0.1'] }
    const { port } = await bareServer(pingRoutes, limits)
    const sockets = [openSocket(port), openSocket(port), openSocket(port)]
    for (const socket of sockets) {
      await socket.send(`GET /here HTTP/1.1\r\n${HEAD}\r\n`)
      expect((await socket.answer())?.status).toBe(200)
    }
    for (const socket of sockets) socket.destroy()
  })
})

describe('a request body', () => {
  const times = { bodyTimeoutMs: 1_000, bodyBytesPerSecondMin: 10 }
  const slowPost = (path: string) =>
    `POST ${path} HTTP/1.1\r\n${HEAD}Content-Type: application/json\r\nContent-Length: 30\r\n\r\n`

  it('that is late is answered 408 long before a large one would be', async () => {
    const { server, port } = await bareServer(pingRoutes, times)
    const socket = openSocket(port)
    await socket.send(`${slowPost('/here')}{`)
    expectError(await socket.answer(), 408)
    await socket.closed()
    await expect.poll(() => connectionsOf(server)).toBe(0)
  })

  it('of a route for large bodies has time in proportion to its size', async () => {
    let failed = 0
    const log = { warn: () => undefined, error: () => (failed += 1) }
    const { server, port } = await bareServer(
      (bare) => {
        pingRoutes(bare)
        bare.post('/large', { config: { bodies: 'large' } as never }, async () => ({ status: 1 }))
      },
      { ...times, bodyBytesPerSecondMin: 1 },
      log as never,
    )
    const [steady, idle] = [openSocket(port), openSocket(port)]
    const asked = once(server.server, 'request')
    await steady.send(slowPost('/large'))
    await asked
    await steady.send(' '.repeat(28))
    await idle.send(slowPost('/large'))
    expectError(await idle.answer(), 408)
    await steady.send('{}')
    expect((await steady.answer())?.status).toBe(200)
    await idle.closed()
    expect(failed).toBe(0)
    for (const socket of [steady, idle]) socket.destroy()
  })

  it('that is late after the answer ends the connection', async () => {
    const { port } = await bareServer(pingRoutes, times)
    const socket = openSocket(port)
    await socket.send(`GET /here HTTP/1.1\r\n${HEAD}Content-Length: 30\r\n\r\n{`)
    expect((await socket.answer())?.status).toBe(200)
    await socket.closed()
  })

  it.each([
    ['JSON', 'application/json', '{'],
    ['a form', 'application/x-www-form-urlencoded', 'a=b&'],
    ['parts', 'multipart/form-data; boundary=x', '--x\r\nContent-Disposition: form-data; name="a"'],
  ])('of %s that is cut off is not logged as a defect', async (_, type, begin) => {
    let asked: () => void = () => undefined
    const lines: unknown[] = []
    const log = { warn: () => undefined, error: (...line: unknown[]) => lines.push(line) }
    const { server, port } = await bareServer((bare) => {
      bare.register(async (scope) => {
        registerBodies(scope)
        scope.setErrorHandler(errorHandler(log as never))
        scope.post('/here', async (request, reply) => {
          await readParameters(request, reply)
          return { status: 1 }
        })
      })
    })
    const ended = new Promise<void>((resolve) => {
      asked = resolve
    })
    server.server.on('request', ({ socket }) => socket.on('close', () => setImmediate(asked)))
    const socket = openSocket(port)
    const request = once(server.server, 'request')
    const length = 'Content-Length: 300\r\n\r\n'
    const head = `POST /here HTTP/1.1\r\n${HEAD}Content-Type: ${type}\r\n${length}`
    await socket.send(`${head}${begin}`)
    await request
    socket.destroy()
    await ended
    expect(lines).toEqual([])
  })
})
