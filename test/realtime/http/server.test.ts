import { createServer } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { jsonCodec } from '../../../src/realtime/codecs/json.ts'
import {
  type HttpServer,
  type HttpServerOptions,
  startHttpServer,
} from '../../../src/realtime/http/server.ts'
import { wireExamples } from '../wire-examples.ts'
import { openSocket, post } from './socket.ts'

const open: HttpServer[] = []
afterEach(() => {
  for (const server of open.splice(0)) server.close()
})

const BODY_BYTES_MAX = 65_536

/** A server that answers each body with its size, in the next turn unless told otherwise. */
async function serverOf(options: Partial<HttpServerOptions> = {}) {
  const bodies: string[] = []
  const server = await startHttpServer({
    host: '127.0.0.1',
    openTo: 'loopback',
    port: 0,
    bodyBytesMax: BODY_BYTES_MAX,
    charge: (body, answer) => {
      const text = body.toString('utf8')
      bodies.push(text)
      setImmediate(() => answer('granted', `{"size":${text.length}}`))
    },
    encodeError: (field, why) => jsonCodec.encodeError({ field, why }),
    isReady: () => true,
    ...options,
  })
  open.push(server)
  return { server, bodies, url: `http://127.0.0.1:${server.port}`, port: server.port }
}

const documented = (name: string) => wireExamples().get(name)?.response

describe('requests', () => {
  it('answers on a connection that is kept', async () => {
    const { port, bodies } = await serverOf()
    const socket = openSocket(port)
    for (const body of ['{"a":1}', '', '{"b":"é"}']) {
      await socket.send(post(body))
      const answer = await socket.answer()
      expect(answer).toMatchObject({ status: 200, body: `{"size":${body.length}}` })
      expect(answer?.headers.get('content-type')).toBe('application/json')
    }
    expect(bodies).toEqual(['{"a":1}', '', '{"b":"é"}'])
    socket.destroy()
  })

  it('may come in any pieces', async () => {
    const { port, bodies } = await serverOf()
    const whole = post('{"piece":12}', 'Content-Type: application/json; charset=utf-8\r\n')
    for (let cut = 1; cut < whole.length; cut += 1) {
      const socket = openSocket(port)
      await socket.send(whole.slice(0, cut))
      await new Promise((resolve) => setImmediate(resolve))
      await socket.send(whole.slice(cut))
      expect((await socket.answer())?.status).toBe(200)
      socket.destroy()
    }
    expect(new Set(bodies)).toEqual(new Set(['{"piece":12}']))
    expect(bodies).toHaveLength(whole.length - 1)
  })

  it('may be chunked', async () => {
    const { port, bodies } = await serverOf()
    const socket = openSocket(port)
    await socket.send('POST /realtime HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n')
    await socket.send('5\r\n{"a":\r\n')
    await socket.send('2\r\n1}\r\n0\r\n\r\n')
    expect((await socket.answer())?.body).toBe('{"size":7}')
    expect(bodies).toEqual(['{"a":1}'])
    socket.destroy()
  })

  it('may have a query', async () => {
    const { url } = await serverOf()
    const headers = { 'Content-Type': 'Application/JSON' }
    const init = { method: 'POST', body: '{}', headers }
    expect((await fetch(`${url}/realtime?file_type=GY`, init)).status).toBe(200)
  })

  it('gives failures their status and Retry-After', async () => {
    const { url } = await serverOf({ charge: (_body, answer) => answer('overloaded', '{"x":1}') })
    const response = await fetch(`${url}/realtime`, { method: 'POST' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.text()).toBe('{"x":1}')
  })
})

describe('refused by HTTP', () => {
  it('another path', async () => {
    const { url } = await serverOf()
    for (const path of ['/', '/realtime/', '/realtime/x', '/Realtime', '/health']) {
      const response = await fetch(url + path, { method: 'POST', body: '{}' })
      expect([response.status, await response.text()]).toEqual([404, documented('http-404')])
    }
  })

  it('another method', async () => {
    const { url } = await serverOf()
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const response = await fetch(`${url}/realtime`, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
      expect(await response.text()).toBe(documented('http-405'))
    }
    const response = await fetch(`${url}/health/live`, { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
  })

  it('another content type', async () => {
    const { url, bodies } = await serverOf()
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'application/jsonp',
      ';',
    ]) {
      const headers = { 'Content-Type': type }
      const response = await fetch(`${url}/realtime`, { method: 'POST', body: '{}', headers })
      expect([response.status, await response.text()]).toEqual([415, documented('http-415')])
    }
    expect(bodies).toEqual([])
  })

  it('a body with a length over the limit, at once; the connection goes on', async () => {
    const { port, bodies } = await serverOf()
    const socket = openSocket(port)
    const long = post('x'.repeat(BODY_BYTES_MAX + 1))
    await socket.send(long.slice(0, 200))
    expect(await socket.answer()).toMatchObject({ status: 413, body: documented('http-413') })
    await socket.send(long.slice(200))
    await socket.send(post('x'.repeat(BODY_BYTES_MAX)))
    expect(await socket.answer()).toMatchObject({ status: 200, body: `{"size":${BODY_BYTES_MAX}}` })
    expect(bodies).toHaveLength(1)
    socket.destroy()
  })

  it('a chunked body that grows over the limit; the connection ends', async () => {
    const { port, bodies } = await serverOf({ bodyBytesMax: 10 })
    const socket = openSocket(port)
    await socket.send('POST /realtime HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n')
    await socket.send('8\r\n12345678\r\n')
    await socket.send('8\r\n12345678\r\n')
    expect((await socket.answer())?.status).toBe(413)
    await socket.closed()
    expect(bodies).toEqual([])
  })
})

describe('connections', () => {
  it('that are cut in the middle of a body harm nobody', async () => {
    const { port, bodies } = await serverOf()
    const whole = post('{"cut":true}')
    for (let cut = 1; cut < whole.length; cut += 5) {
      const socket = openSocket(port)
      await socket.send(whole.slice(0, cut))
      socket.destroy()
    }
    const socket = openSocket(port)
    await socket.send(post('{}'))
    expect((await socket.answer())?.status).toBe(200)
    expect(bodies).toEqual(['{}'])
    socket.destroy()
  })

  it('that are cut before the answer harm nobody', async () => {
    const answers: (() => void)[] = []
    let arrived = () => {}
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const { port } = await serverOf({
      charge: (_body, answer) => {
        answers.push(() => answer('granted', '{}'))
        arrived()
      },
    })
    const gone = openSocket(port)
    await gone.send(post('{}'))
    await hasArrived
    gone.destroy()
    const socket = openSocket(port)
    await socket.send(post('{}'))
    while (answers.length < 2) await new Promise((resolve) => setImmediate(resolve))
    for (const answer of answers) {
      answer()
      answer()
    }
    expect((await socket.answer())?.status).toBe(200)
    socket.destroy()
  })

  it('that pipeline are ended without an answer, and the server stays up', async () => {
    const { port, bodies } = await serverOf()
    const socket = openSocket(port)
    await socket.send(post('{"first":1}') + post('{"second":2}'))
    expect(await socket.answer()).toBeNull()
    expect(bodies).toEqual(['{"first":1}'])
    const other = openSocket(port)
    await other.send(post('{}'))
    expect((await other.answer())?.status).toBe(200)
    other.destroy()
  })

  it('may send anything', async () => {
    const { port } = await serverOf()
    const heads = [
      '\u0000\u0001 nonsense\r\n\r\n',
      'POST /realtime HTTP/1.1\r\nHost: t\r\nContent-Length: abc\r\n\r\nab',
      'POST /realtime HTTP/1.1\r\nHost: t\r\nContent-Length: -5\r\n\r\nab',
      'POST /realtime HTTP/1.1\r\nHost: t\r\nContent-Length: 99999999999999999999\r\n\r\nab',
      'POST /realtime HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      `GET /${'x'.repeat(20_000)} HTTP/1.1\r\nHost: t\r\n\r\n`,
      `POST /realtime HTTP/1.1\r\n${'A: b\r\n'.repeat(2000)}\r\n`,
      'POST /realtime HTTP/1.0\r\n\r\n',
    ]
    for (const head of heads) {
      const socket = openSocket(port)
      await socket.send(head)
      await new Promise((resolve) => setImmediate(resolve))
      socket.destroy()
    }
    const socket = openSocket(port)
    await socket.send(post('{}'))
    expect((await socket.answer())?.status).toBe(200)
    socket.destroy()
  })
})

describe('health', () => {
  it('is live while it answers, ready when told so', async () => {
    let isReady = false
    const { url } = await serverOf({ isReady: () => isReady })
    const ask = async (path: string) => {
      const response = await fetch(url + path)
      return [response.status, await response.text()]
    }
    expect(await ask('/health/live')).toEqual([200, '{"status":1}'])
    expect(await ask('/health/ready')).toEqual([503, '{"status":0}'])
    isReady = true
    expect(await ask('/health/ready')).toEqual([200, '{"status":1}'])
  })
})

describe('stopping', () => {
  it('takes no connection, answers what is under way, and ends with the answer', async () => {
    let arrived: (answerNow: () => void) => void = () => {}
    const underWay = new Promise<() => void>((resolve) => {
      arrived = resolve
    })
    const { server, port } = await serverOf({
      charge: (_body, answer) => arrived(() => answer('granted', '{}')),
    })
    const idle = openSocket(port)
    await idle.connected
    const socket = openSocket(port)
    await socket.send(post('{}'))
    const answerNow = await underWay
    server.stop()
    answerNow()
    const answer = await socket.answer()
    expect([answer?.status, answer?.headers.get('connection')]).toEqual([200, 'close'])
    await socket.closed()
    const late = openSocket(port)
    expect(await late.answer()).toBeNull()
    server.close()
    await idle.closed()
  })
})

describe('an address that cannot be had', () => {
  it('in use by another server of ours', async () => {
    const { server, port } = await serverOf()
    server.close()
    // Only a port that is asked for by its number could be shared.
    await serverOf({ port })
    await expect(serverOf({ port })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: the port is in use`,
    )
    await expect(serverOf({ port })).rejects.toMatchObject({ name: 'ListenError' })
  })

  it('in use by somebody else', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(serverOf({ port })).rejects.toThrow('the port is in use')
    await new Promise((resolve) => other.close(resolve))
  })

  it.each(['0.0.0.0', '::', '192.0.2.1', 'example.com', ''])('not loopback: %s', async (host) => {
    await expect(serverOf({ host })).rejects.toThrow(
      /must be loopback .* realtime\.openTo is network/,
    )
  })
})
