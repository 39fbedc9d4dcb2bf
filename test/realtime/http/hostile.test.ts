/** Invalid requests that occur nevertheless: a named error is returned, or the connection ends. */
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { ChargeOf } from '../../../src/realtime/charge.ts'
import { KINDS, type Kind, serverOf } from '../../support/realtime/http/server-of.ts'
import { openSocket, post } from '../../support/realtime/http/socket.ts'
import { waitUntil } from '../../support/wait.ts'

const POST = 'POST /realtime HTTP/1.1\r\nHost: t\r\n'
const CHUNKED = 'Transfer-Encoding: chunked\r\n'

/** A server whose answers repeat the request, so that a wrong pairing is visible. */
function echo(kind: Kind) {
  const bodies: string[] = []
  const answers: (() => void)[] = []
  const charge: ChargeOf<string> = ({ body }, answer) => {
    const text = body.toString()
    bodies.push(text)
    answers.push(() => answer('granted', text))
  }
  return serverOf(kind, { charge }).then(({ port, server }) => ({ port, server, bodies, answers }))
}

/** Checks that the server still accepts and answers valid requests. */
async function expectGood(port: number, answerAll: () => void = () => undefined) {
  const socket = openSocket(port)
  await socket.send(post('{"good":1}'))
  const answer = socket.answer()
  let isAnswered = false
  void answer.then(() => {
    isAnswered = true
  })
  await waitUntil('the answer', () => {
    answerAll()
    return isAnswered
  })
  expect((await answer)?.status).toBe(200)
  socket.destroy()
}

describe.each(KINDS)('a request with an ambiguous length: %s', (kind) => {
  const inner = post('{"smuggled":1}')
  const rows: [what: string, head: string, rest: string, names: string][] = [
    ['two lengths', `Content-Length: 0\r\nContent-Length: ${inner.length}\r\n`, inner, 'length'],
    ['two equal lengths', 'Content-Length: 2\r\nContent-Length: 2\r\n', 'ab', 'length'],
    ['length and chunks', `Content-Length: 5\r\n${CHUNKED}`, `0\r\n\r\n${inner}`, ''],
    ['chunks and length', `${CHUNKED}Content-Length: 5\r\n`, `0\r\n\r\n${inner}`, ''],
    ['length and no encoding', 'Transfer-Encoding:\r\nContent-Length: 2\r\n', 'ab', ''],
    ['length and identity', 'Transfer-Encoding: identity\r\nContent-Length: 2\r\n', 'ab', ''],
    ['xchunked', 'Transfer-Encoding: xchunked\r\n', '2\r\nab\r\n0\r\n\r\n', 'encoding'],
    ['gzip', 'Transfer-Encoding: gzip\r\n', 'ab', 'encoding'],
    ['gzip and chunked', 'Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n', 'encoding'],
    ['length +2', 'Content-Length: +2\r\n', 'ab', ''],
    ['length -2', 'Content-Length: -2\r\n', 'ab', ''],
    ['length 0x2', 'Content-Length: 0x2\r\n', 'ab', ''],
    ['length 2, 2', 'Content-Length: 2, 2\r\n', 'ab', ''],
    ['length 10^20', `Content-Length: 1${'0'.repeat(20)}\r\n`, 'ab', ''],
    ['no length', 'Content-Length:\r\n', '', 'length'],
    ['chunk -2', CHUNKED, '-2\r\nab\r\n0\r\n\r\n', ''],
    ['chunk over 2^64', CHUNKED, 'fffffffffffffffff\r\nab\r\n0\r\n\r\n', ''],
  ]

  it.each(rows)('%s: is refused, and the connection ends', async (_what, head, rest, names) => {
    const { port, bodies } = await echo(kind)
    for (const parts of [[`${POST}${head}\r\n${rest}`], [`${POST}${head}\r\n`, rest]]) {
      const socket = openSocket(port)
      for (const part of parts) {
        await socket.send(part)
        await new Promise((resolve) => setImmediate(resolve))
      }
      const answer = await socket.answer()
      // Without a name the library ends the connection itself, sometimes without an answer; it
      // may also do so if the rest arrived with the head.
      if (answer !== null) {
        expect(answer.status).toBe(400)
        expect(answer.body).toContain(names)
      }
      await socket.closed()
      expect(await socket.answer()).toBeNull()
    }
    expect(bodies).toEqual([])
  })

  it('is refused with the reason, if the library leaves the answer to the product', async () => {
    const { port } = await echo(kind)
    const socket = openSocket(port)
    await socket.send(`${POST}Content-Length: 0\r\nContent-Length: 2\r\n\r\n`)
    expect(await socket.answer()).toMatchObject({
      status: 400,
      body: expect.stringContaining('content-length must be given once'),
    })
    await socket.closed()
  })
})

describe.each(KINDS)('several requests together on a connection: %s', (kind) => {
  const three = ['{"a":1}', '{"b":2}', '{"c":3}']

  it.each([
    { how: 'in one piece', parts: [three.map((body) => post(body)).join('')] },
    { how: 'one by one', parts: three.map((body) => post(body)) },
    {
      how: 'cut in the middle',
      parts: [`${post('{"a":1}')}${post('{"b":2}').slice(0, 20)}`, post('{"b":2}').slice(20)],
    },
  ])('$how: are answered in order, or the connection ends', async ({ parts }) => {
    const { port, answers, bodies } = await echo(kind)
    const socket = openSocket(port)
    for (const part of parts) {
      await socket.send(part)
      await waitUntil('the first request', () => bodies.length > 0)
    }
    const sent = three.filter((body) => parts.join('').includes(body))
    if (kind === 'javascript') {
      await waitUntil('all requests', () => bodies.length === sent.length)
      // The last request is answered first.
      for (const answerNow of answers.reverse()) answerNow()
      for (const body of sent) expect(await socket.answer()).toMatchObject({ status: 200, body })
    } else {
      await socket.closed()
      for (const answerNow of answers) answerNow()
      // The library may refuse half a head as not HTTP.
      const answer = await socket.answer()
      if (answer !== null) expect(answer).toMatchObject({ status: 505, body: '' })
      expect(bodies).toEqual(['{"a":1}'])
    }
    socket.destroy()
    await expectGood(port, () => answers.at(-1)?.())
  })

  it('followed by garbage: the answer belongs to the request', async () => {
    const { port, answers } = await echo(kind)
    const socket = openSocket(port)
    await socket.send(`${post('{"a":1}')}\u0000\u0001garbage\r\n\r\n`)
    await waitUntil('the request', () => answers.length > 0)
    await Promise.race([socket.closed(), new Promise((resolve) => setTimeout(resolve, 50))])
    answers[0]?.()
    const answer = await socket.answer()
    // Without a body, and at the end of the connection: it cannot be read as an outcome.
    const noHttp = { status: 505, body: '' }
    const answered = { status: 200, body: '{"a":1}' }
    if (answer !== null) expect(answer).toMatchObject(kind === 'native' ? noHttp : answered)
    socket.destroy()
    await expectGood(port, () => answers.at(-1)?.())
  })
})

describe.each(KINDS)('a client that closes its half: %s', (kind) => {
  it.each(['with the request', 'later'])(
    '%s: receives its answer, or the connection ends',
    async (when) => {
      const { port, answers, bodies } = await echo(kind)
      const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
      let received = ''
      let hasEnded = false
      socket.on('data', (bytes) => {
        received += bytes
      })
      socket.on('error', () => undefined)
      socket.on('end', () => {
        hasEnded = true
      })
      if (when === 'later') {
        socket.write(post('{"half":1}'))
        await waitUntil('the request', () => bodies.length === 1)
        socket.end()
      } else socket.end(post('{"half":1}'))
      await waitUntil('the request', () => bodies.length === 1)
      if (kind === 'native') await waitUntil('the end', () => hasEnded)
      answers[0]?.()
      await waitUntil('the end', () => hasEnded)
      if (kind === 'javascript') expect(received).toMatch(/^HTTP\/1.1 200 [\s\S]*\{"half":1\}$/)
      else expect(received).toBe('')
      socket.destroy()
      await expectGood(port, () => answers.at(-1)?.())
    },
  )
})

describe.each(KINDS)('a head that is too large: %s', (kind) => {
  const rows: [what: string, head: string][] = [
    ['a header of 2 MB', `${POST}X: ${'y'.repeat(2_000_000)}\r\n\r\n`],
    ['a path of 2 MB', `GET /${'x'.repeat(2_000_000)} HTTP/1.1\r\nHost: t\r\n\r\n`],
    ['20,000 headers', `${POST}${'A: b\r\n'.repeat(20_000)}\r\n`],
  ]

  it.each(rows)('%s: is answered with 431, or the connection ends', async (_what, head) => {
    const { port, bodies } = await serverOf(kind)
    const socket = openSocket(port)
    await socket.send(head)
    const answer = await socket.answer()
    if (answer !== null) expect(answer.status).toBe(431)
    await socket.closed()
    expect(bodies).toEqual([])
    await expectGood(port)
  })
})

describe.each(KINDS)('any other request: %s', (kind) => {
  const heads = [
    '\u0000\u0001 nonsense\r\n\r\n',
    '\u0016\u0003\u0001\u0000\u00a5\u0001\u0000',
    'SSH-2.0-OpenSSH\r\n',
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    'FOO /realtime HTTP/1.1\r\nHost: t\r\n\r\n',
    'post /realtime HTTP/1.1\r\nHost: t\r\n\r\n',
    'POST  HTTP/1.1\r\nHost: t\r\n\r\n',
    'POST /realtime HTTP/1.2\r\nHost: t\r\nContent-Length: 2\r\n\r\n{}',
    'POST /realtime HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}',
    'POST /realtime HTTP/1.1\nHost: t\nContent-Length: 2\n\n{}',
    `${POST}Nothing\r\nContent-Length: 2\r\n\r\n{}`,
    `${POST}X: a\u0000b\r\nContent-Length: 2\r\n\r\n{}`,
    'CONNECT a:1 HTTP/1.1\r\nHost: t\r\n\r\n',
    'OPTIONS * HTTP/1.1\r\nHost: t\r\n\r\n',
    'GET /%zz%00 HTTP/1.1\r\nHost: t\r\n\r\n',
    `GET ${'/a'.repeat(150)} HTTP/1.1\r\nHost: t\r\n\r\n`,
    'GET /realtime HTTP/1.1\r\nHost: t\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n',
  ]

  it('is refused or ignored, is not charged, and affects no other client', async () => {
    const { port, bodies } = await serverOf(kind)
    for (const head of heads) {
      const socket = openSocket(port)
      await socket.send(head)
      const answer = await Promise.race([
        socket.answer(),
        new Promise<null>((resolve) => setTimeout(resolve, 50, null)),
      ])
      if (answer !== null) expect([400, 404, 405, 411, 505], head).toContain(answer.status)
      socket.destroy()
    }
    expect(bodies).toEqual([])
    await expectGood(port)
  })

  it('with Expect: 100-continue is answered before the body is sent', async () => {
    const { port } = await serverOf(kind)
    const socket = openSocket(port)
    await socket.send(`${POST}Expect: 100-continue\r\nContent-Length: 2\r\n\r\n`)
    expect((await socket.answer())?.status).toBe(100)
    await socket.send('{}')
    expect(await socket.answer()).toMatchObject({ status: 200, body: '{"size":2}' })
    socket.destroy()
  })

  it('with Connection: close is the last one; a refusal leaves the connection usable', async () => {
    const { port } = await serverOf(kind)
    const socket = openSocket(port)
    await socket.send('GET /nowhere HTTP/1.1\r\nHost: t\r\n\r\n')
    expect((await socket.answer())?.status).toBe(404)
    await socket.send(post('{}', 'Content-Type: text/plain\r\n'))
    expect((await socket.answer())?.status).toBe(415)
    await socket.send(post('{}', 'Connection: close\r\n'))
    expect((await socket.answer())?.status).toBe(200)
    await socket.closed()
  })
})

describe('slow clients', () => {
  const CLAIM = `${POST}Content-Length: 60000\r\n\r\n`
  const HTTP_1_0 = 'POST /realtime HTTP/1.0\r\nContent-Length: 2\r\n\r\n{}'
  /** Sent once, and then repeatedly, without an end. */
  const rows: [what: string, first: string, more: string][] = [
    ['nothing', '', ''],
    ['half a head', POST, ''],
    ['a head letter by letter', `${POST}X: `, 'y'],
    ['no body', CLAIM, ''],
    ['a body letter by letter', CLAIM, 'a'],
    ['chunks letter by letter', `${POST}${CHUNKED}\r\n`, '1\r\na\r\n'],
    ['nothing after the answer', post('{}'), ''],
    ['HTTP/1.0', HTTP_1_0, ''],
  ]

  it('are disconnected in any state', { timeout: 120_000 }, async () => {
    const waiting = KINDS.flatMap((kind) => {
      const server = serverOf(kind)
      return rows.map(async ([what, first, more]) => {
        const { port } = await server
        const socket = openSocket(port)
        await socket.connected
        if (first !== '') await socket.send(first)
        const timer = setInterval(() => more !== '' && void socket.send(more), 1_000)
        await socket.closed()
        clearInterval(timer)
        return `${kind}: ${what}`
      })
    })
    expect(await Promise.all(waiting)).toHaveLength(2 * rows.length)
  })
})

// The native server counts descriptors, including those of this test: test/system/hostile.test.ts.
describe('connections above the limit: javascript', () => {
  const CONNECTIONS_MAX = 20

  it('are refused; existing connections continue', async () => {
    const { port } = await serverOf('javascript', { connectionsMax: CONNECTIONS_MAX })
    const first = openSocket(port)
    await first.send(post('{}'))
    expect((await first.answer())?.status).toBe(200)
    const sockets = Array.from({ length: 2 * CONNECTIONS_MAX }, () => openSocket(port))
    // A refused connection receives nothing, or its end.
    const isTaken = async () => {
      const late = openSocket(port)
      await late.send(post('{}'))
      const answer = await late.answer()
      late.destroy()
      return answer !== null
    }
    await waitUntil('a refusal', async () => !(await isTaken()))
    await first.send(post('{}'))
    expect((await first.answer())?.status).toBe(200)
    for (const socket of sockets) socket.destroy()
    await waitUntil('room again', isTaken)
    first.destroy()
  })
})
