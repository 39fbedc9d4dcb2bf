import { connect, createServer } from 'node:net'
import { describe, expect, it } from 'vitest'
import { BODY_BYTES_MAX, KINDS, serverOf } from '../../support/realtime/http/server-of.ts'
import { openSocket, post } from '../../support/realtime/http/socket.ts'
import { wireExamples } from '../../support/realtime/wire-examples.ts'

/** Receives until `end` occurs; the second message is sent once the first has a head. */
async function bytesUntil(port: number, [first, second]: [string, string], end: string) {
  const socket = connect(port, '127.0.0.1')
  socket.write(first)
  let received = ''
  for await (const bytes of socket) {
    if (!received.includes('\r\n\r\n')) socket.write(second)
    received += String(bytes)
    if (received.includes(end)) break
  }
  return received
}

const documented = (name: string) => wireExamples().get(name)?.response

describe.each(KINDS)('requests: %s', (kind) => {
  it('are answered on a persistent connection', async () => {
    const { port, bodies } = await serverOf(kind)
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

  it('may arrive in any pieces', async () => {
    const { port, bodies } = await serverOf(kind)
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

  it.skipIf(kind === 'native')('may be chunked', async () => {
    const { port, bodies } = await serverOf(kind)
    const socket = openSocket(port)
    await socket.send('POST /realtime HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n')
    await socket.send('5\r\n{"a":\r\n')
    await socket.send('2\r\n1}\r\n0\r\n\r\n')
    expect((await socket.answer())?.body).toBe('{"size":7}')
    expect(bodies).toEqual(['{"a":1}'])
    socket.destroy()
  })

  it('that fail have their status and Retry-After', async () => {
    const { url } = await serverOf(kind, {
      charge: (_body, answer) => answer('overloaded', '{"x":1}'),
    })
    const response = await fetch(`${url}/realtime`, { method: 'POST' })
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '1'])
    expect(await response.text()).toBe('{"x":1}')
  })
})

describe.each(KINDS)('a request refused by HTTP: %s', (kind) => {
  it('has another path', async () => {
    const { url } = await serverOf(kind)
    for (const path of ['/', '/realtime/', '/realtime/x/y', '/Realtime', '/health']) {
      const response = await fetch(url + path, { method: 'POST', body: '{}' })
      expect([response.status, await response.text()]).toEqual([404, documented('http-404')])
    }
  })

  it('has another method', async () => {
    const { url } = await serverOf(kind)
    for (const method of ['GET', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const response = await fetch(`${url}/realtime`, { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
      expect(await response.text()).toBe(documented('http-405'))
    }
    const response = await fetch(`${url}/health/live`, { method: 'POST' })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
  })

  it('is HEAD, answered without a body, which would be the next answer', async () => {
    const { port } = await serverOf(kind)
    const head = (path: string) => `HEAD ${path} HTTP/1.1\r\nHost: t\r\n\r\n`
    for (const path of ['/realtime', '/nowhere', '/health/live']) {
      const bytes = await bytesUntil(port, [head(path), post('{"a":1}')], '{"size":7}')
      const [first = '', second = ''] = bytes.split('HTTP/1.1 ').slice(1)
      expect(first).toMatch(/^40[45] [\s\S]*\r\n\r\n$/)
      expect(second).toMatch(/^200 /)
    }
  })

  it('has another content type', async () => {
    const { url, bodies } = await serverOf(kind)
    for (const type of ['text/plain', 'application/xml', 'application/jsonp', ';']) {
      const headers = { 'Content-Type': type }
      const response = await fetch(`${url}/realtime`, { method: 'POST', body: '{}', headers })
      expect([response.status, await response.text()]).toEqual([415, documented('http-415')])
    }
    expect(bodies).toEqual([])
  })

  it('declares a body over the limit; the connection continues', async () => {
    const { port, bodies } = await serverOf(kind)
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

  it.skipIf(kind === 'native')('has a chunked body that grows over the limit', async () => {
    const { port, bodies } = await serverOf(kind, { bodyBytesMax: 10 })
    const socket = openSocket(port)
    await socket.send('POST /realtime HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n')
    await socket.send('8\r\n12345678\r\n')
    await socket.send('8\r\n12345678\r\n')
    expect((await socket.answer())?.status).toBe(413)
    await socket.closed()
    expect(bodies).toEqual([])
  })
})

describe.each(KINDS)('connections: %s', (kind) => {
  it('that have just ended do not block the port, also one chosen by the system', async () => {
    const { server, port } = await serverOf(kind)
    const socket = openSocket(port)
    await socket.send(post('{}'))
    expect((await socket.answer())?.status).toBe(200)
    server.close()
    await socket.closed()
    const again = await serverOf(kind, { port })
    expect(again.port).toBe(port)
  })

  it('cut in the middle of a body affect no other request', async () => {
    const { port, bodies } = await serverOf(kind)
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

  it('cut before the answer affect no other request', async () => {
    const answers: (() => void)[] = []
    let arrived = () => {}
    const hasArrived = new Promise<void>((resolve) => {
      arrived = resolve
    })
    const { port } = await serverOf(kind, {
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
})

describe.each(KINDS)('health: %s', (kind) => {
  it('is live while the server answers, ready when set', async () => {
    let isReady = false
    const { url } = await serverOf(kind, { isReady: () => isReady })
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

describe.each(KINDS)('stopping: %s', (kind) => {
  it('accepts no connection, answers requests in flight, and closes after them', async () => {
    let arrived: (answerNow: () => void) => void = () => {}
    const underWay = new Promise<() => void>((resolve) => {
      arrived = resolve
    })
    const { server, port } = await serverOf(kind, {
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

describe.each(KINDS)('an address that is not available: %s', (kind) => {
  it('is in use by another server of the product', async () => {
    const { server, port } = await serverOf(kind)
    server.close()
    // Only a port given by its number could be shared.
    await serverOf(kind, { port })
    await expect(serverOf(kind, { port })).rejects.toThrow(
      `cannot listen on 127.0.0.1:${port}: the port is in use`,
    )
    await expect(serverOf(kind, { port })).rejects.toMatchObject({ name: 'ListenError' })
  })

  it('is in use by another program', async () => {
    const other = createServer()
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    const address = other.address()
    const port = typeof address === 'object' && address !== null ? address.port : 0
    await expect(serverOf(kind, { port })).rejects.toThrow('the port is in use')
    await new Promise((resolve) => other.close(resolve))
  })
})

it('is not shared if HTTP is in JavaScript', async () => {
  const sharing = { isFirst: true, firstDescriptor: 0 }
  await expect(serverOf('javascript', { sharing })).rejects.toThrow(
    'realtime.listeners must be 1: HTTP in JavaScript cannot share its port',
  )
})
