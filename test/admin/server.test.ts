import { once } from 'node:events'
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import {
  bareServer,
  connectionsOf,
  expectError,
  HEAD,
  JSON_POST,
  pingRoutes,
  sendRaw,
} from '../support/admin/bare.ts'
import { openSocket, type RawAnswer } from '../support/realtime/http/socket.ts'

/** Properties of every answer, from any layer. */
function expectErrorWithHeaders(answer: RawAnswer | null, code: number): void {
  expectError(answer, code)
  expect(answer?.headers.get('content-type')).toMatch(/^application\/json/)
  for (const [name, value] of Object.entries(EXPECTED)) {
    expect(answer?.headers.get(name), name).toBe(value)
  }
  const names = [...(answer?.headers.keys() ?? [])]
  expect(names.filter((name) => /^(server|x-powered-by|strict-transport)/.test(name))).toEqual([])
}

const EXPECTED = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-resource-policy': 'same-origin',
  'cache-control': 'no-store',
}

const routes: Parameters<typeof bareServer>[0] = (server) => {
  pingRoutes(server)
  server.get('/fails', async () => {
    throw new Error('SECRET inside')
  })
  server.get('/page', async (_, reply) =>
    reply.header('content-security-policy', "default-src 'self'").send('page'),
  )
}

describe('security headers', () => {
  it.each([
    ['GET /here HTTP/1.1', 200],
    ['HEAD /here HTTP/1.1', 200],
    ['GET /nowhere HTTP/1.1', 404],
    ['GET /fails HTTP/1.1', 500],
    ['GET /% HTTP/1.1', 400],
    ['GET /here HTTP/1.0', 200],
    ['OPTIONS /here HTTP/1.1', 404],
  ])('are in the answer to %s', async (line, status) => {
    const { port } = await bareServer(routes)
    const socket = openSocket(port)
    const isHead = line.startsWith('HEAD')
    await socket.send(`${line}\r\n${HEAD}Connection: close\r\n\r\n`)
    // An answer to HEAD has a length, and no body.
    const answer = isHead ? null : await socket.answer()
    if (isHead) {
      await socket.closed()
      const response = await fetch(`http://127.0.0.1:${port}/here`, { method: 'HEAD' })
      expect(response.status).toBe(status)
      for (const [name, value] of Object.entries(EXPECTED)) {
        expect(response.headers.get(name), name).toBe(value)
      }
    } else if (status === 200) {
      expect(answer).toMatchObject({ status, body: '{"status":1}' })
      for (const [name, value] of Object.entries(EXPECTED)) {
        expect(answer?.headers.get(name), name).toBe(value)
      }
    } else {
      expectErrorWithHeaders(answer, status)
      expect(answer?.body).not.toContain('SECRET')
    }
    socket.destroy()
  })

  it('may differ for a page, and the rest stays', async () => {
    const { url } = await bareServer(routes)
    const { headers } = await fetch(`${url}/page`)
    expect(headers.get('content-security-policy')).toBe("default-src 'self'")
    expect(headers.get('x-frame-options')).toBe('DENY')
  })
})

describe('a request that is too large:', () => {
  it.each([
    ['an address', 414, `GET /here?a=${'x'.repeat(16 * 1024)} HTTP/1.1\r\n${HEAD}\r\n`],
    ['a part of an address', 414, `GET /at/${'x'.repeat(200)} HTTP/1.1\r\n${HEAD}\r\n`],
    ['a head', 431, `GET /here HTTP/1.1\r\n${HEAD}X-Much: ${'x'.repeat(33_000)}\r\n\r\n`],
    ['the number of headers', 431, `GET /here HTTP/1.1\r\n${HEAD}${'A: b\r\n'.repeat(200)}\r\n`],
    ['the sum of headers', 431, `GET /here HTTP/1.1\r\n${HEAD}${'A: bcd\r\n'.repeat(9000)}\r\n`],
    ['a body', 413, `${JSON_POST}Content-Length: 999999\r\n\r\n{`],
  ])('%s is refused', async (_, code, text) => {
    const { port } = await bareServer((server) => {
      routes(server)
      server.get('/at/:name', async () => ({ status: 1 }))
    })
    expectErrorWithHeaders(await sendRaw(port, text), code)
  })

  it('a body without a length is refused when it exceeds the limit', async () => {
    const { port } = await bareServer(routes)
    const chunk = `8000\r\n${'x'.repeat(0x8000)}\r\n`
    const socket = openSocket(port)
    await socket.send(`${JSON_POST}Transfer-Encoding: chunked\r\n\r\n${chunk.repeat(9)}`)
    expectErrorWithHeaders(await socket.answer(), 413)
    socket.destroy()
  })
})

describe('a client that is too slow', () => {
  const requestTimeoutMs = 1_000

  it('gets 408 for an incomplete head or body or no request, and its connection ends', async () => {
    const { server, port } = await bareServer(routes, { requestTimeoutMs })
    const body = `${JSON_POST}Content-Length: 9\r\n\r\n{`
    const late = ['GET /here HTTP/1.1\r\nHost: x\r\nX-Slow', body, ''].map(async (text) => {
      const socket = openSocket(port)
      if (text !== '') await socket.send(text)
      expectErrorWithHeaders(await socket.answer(), 408)
      await socket.closed()
    })
    await Promise.all(late)
    await expect.poll(() => connectionsOf(server)).toBe(0)
  })

  it('in reading its answer is cut off', async () => {
    const { server, port } = await bareServer(
      (bare) => bare.get('/much', async (_, reply) => reply.send(Buffer.alloc(64 * 1024 * 1024))),
      { requestTimeoutMs },
    )
    const client = connect({ port, host: '127.0.0.1' })
    client.on('error', () => undefined)
    client.pause()
    client.write(`GET /much HTTP/1.1\r\n${HEAD}\r\n`)
    await once(server.server, 'request')
    await expect.poll(() => connectionsOf(server)).toBe(0)
    client.destroy()
  })
})

describe('connections', () => {
  it('above the limit get 503, logged once, except for health', async () => {
    const lines: unknown[] = []
    const log = { warn: (...line: unknown[]) => lines.push(line), error: () => undefined }
    const { port } = await bareServer(routes, { connectionsMax: 2 }, log as never)
    const first = [openSocket(port), openSocket(port)]
    for (const socket of first) {
      await socket.send(`GET /here HTTP/1.1\r\n${HEAD}\r\n`)
      expect((await socket.answer())?.status).toBe(200)
    }
    for (const socket of [openSocket(port), openSocket(port)]) {
      await socket.send(`GET /here HTTP/1.1\r\n${HEAD}\r\n`)
      const answer = await socket.answer()
      expectErrorWithHeaders(answer, 503)
      expect(answer?.headers.get('retry-after')).toBe('5')
      await socket.closed()
    }
    const health = openSocket(port)
    await health.send(`GET /health HTTP/1.1\r\n${HEAD}\r\n`)
    expect((await health.answer())?.status).toBe(200)
    health.destroy()
    expect(lines).toEqual([[{ connectionsMax: 2 }, 'too many connections to the control plane']])
    for (const socket of first) socket.destroy()
    const statusNow = async () =>
      (await fetch(`http://127.0.0.1:${port}/here`).catch(() => null))?.status
    await expect.poll(statusNow).toBe(200)
  })
})

describe('an ambiguous request:', () => {
  const inner = 'GET /fails HTTP/1.1\r\nHost: x\r\n\r\n'

  it.each([
    [
      'a length and an encoding',
      `${JSON_POST}Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['two lengths', `${JSON_POST}Content-Length: 2\r\nContent-Length: 40\r\n\r\n{}${inner}`],
    ['a length that is not a number', `${JSON_POST}Content-Length: +2\r\n\r\n{}${inner}`],
    [
      'an encoding that is not the last',
      `${JSON_POST}Transfer-Encoding: chunked, x\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['a folded header', `${JSON_POST} Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n${inner}`],
    [
      'a blank before the colon',
      `${JSON_POST}Transfer-Encoding : chunked\r\n\r\n0\r\n\r\n${inner}`,
    ],
    ['lines that end in LF', `GET /here HTTP/1.1\nHost: x\nX: y\n\n`],
    ['a NUL in a header', `GET /here HTTP/1.1\r\n${HEAD}X: a\0b\r\n\r\n`],
    ['an absolute address with a host', `GET http://evil.test/here HTTP/1.1\r\n${HEAD}\r\n`],
    ['no host', 'GET /here HTTP/1.1\r\n\r\n'],
    ['no HTTP', '\x16\x03\x01\x02\x00\x01'],
  ])('%s is refused, and nothing behind it is read', async (_, text) => {
    let failed = 0
    const { port } = await bareServer((server) => {
      routes(server)
      server.addHook('onRequest', async ({ url }) => {
        if (url === '/fails') failed += 1
      })
    })
    const socket = openSocket(port)
    await socket.send(text)
    expectErrorWithHeaders(await socket.answer(), 400)
    if (text.includes(inner)) expect(await socket.answer()).toBeNull()
    expect(failed).toBe(0)
    socket.destroy()
  })

  it('garbage behind a pending request is not answered before it', async () => {
    let answer: () => void = () => undefined
    const asked = new Promise<void>((resolve) => {
      answer = resolve
    })
    let arrive: () => void = () => undefined
    const arrived = new Promise<void>((resolve) => {
      arrive = resolve
    })
    const { port } = await bareServer((server) => {
      server.get('/waits', async () => {
        arrive()
        await asked
        return { status: 1 }
      })
    })
    const socket = openSocket(port)
    await socket.send(`GET /waits HTTP/1.1\r\n${HEAD}\r\n`)
    await arrived
    await socket.send('garbage\r\n\r\n')
    expect(await socket.answer()).toBeNull()
    answer()
  })
})

describe('a stopping server', () => {
  it('says so to clients that send further requests', async () => {
    let stopped: () => void = () => undefined
    const stopping = new Promise<void>((resolve) => {
      stopped = resolve
    })
    let reached: () => void = () => undefined
    const closing = new Promise<void>((resolve) => {
      reached = resolve
    })
    const { server, port } = await bareServer((bare) => {
      routes(bare)
      bare.addHook('preClose', async () => {
        reached()
        await stopping
      })
    })
    const socket = openSocket(port)
    await socket.connected
    const closed = server.close()
    await closing
    await socket.send(`GET /here HTTP/1.1\r\n${HEAD}\r\n`)
    expectErrorWithHeaders(await socket.answer(), 503)
    stopped()
    await closed
    socket.destroy()
  })
})
