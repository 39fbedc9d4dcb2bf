/** Requests behind a request with an ambiguous end: they never run, wherever TCP cuts. */
import { connect } from 'node:net'
import { describe, expect, it } from 'vitest'
import { KINDS, serverOf } from '../../support/realtime/http/server-of.ts'
import { openSocket, post, type RawAnswer } from '../../support/realtime/http/socket.ts'
import {
  atEveryCut,
  exchange,
  REFUSALS,
  sendParts,
  smuggledRequests,
} from '../../support/smuggling.ts'
import { waitUntil } from '../../support/wait.ts'

const HIDDEN = post('{"hidden":1}')
const ROWS = smuggledRequests({ line: 'POST /realtime', headers: '' }, HIDDEN)

/** The server closes a silent connection with the idle ones. */
async function exchangeOrLeave(port: number, parts: readonly string[], isSilent: boolean) {
  if (!isSilent) return exchange(port, parts)
  const socket = await sendParts(port, parts)
  socket.destroy()
  return { first: null, second: null }
}

/**
 * After an answer that ends the connection uWebSockets.js may still answer the bytes that follow
 * with an error of its own; that is never the answer to a request.
 */
function expectNoAnswer(answer: RawAnswer | null, where = ''): void {
  if (answer === null) return
  expect([400, 505], where).toContain(answer.status)
  expect(answer.headers.get('connection'), where).toBe('close')
}

describe.each(KINDS)('%s', (kind) => {
  it.each(ROWS)('$name: is refused, and nothing behind it runs', async (row) => {
    const { port, bodies } = await serverOf(kind)
    const isSilent = kind === 'native' && row.isSilent
    const { first, second } = await exchangeOrLeave(port, [row.text], isSilent)
    expectNoAnswer(second)
    if (!isSilent) {
      expect(REFUSALS).toContain(first?.status)
      expect(first?.headers.get('connection')).toBe('close')
    }
    expect(bodies).toEqual([])
  })

  it('nothing behind a refused request runs, wherever TCP cuts', { timeout: 240_000 }, async () => {
    const { port, bodies } = await serverOf(kind)
    for (const row of ROWS) {
      const isSilent = kind === 'native' && row.isSilent
      await atEveryCut(row.text, async (parts, cut) => {
        const { first, second } = await exchangeOrLeave(port, parts, isSilent)
        // Bytes after the end may reset the connection before its answer is read.
        const where = `${row.name} at ${cut}`
        expectNoAnswer(second, where)
        if (first !== null) expect(REFUSALS, where).toContain(first.status)
      })
      expect(
        bodies.filter((body) => body.includes('hidden')),
        row.name,
      ).toEqual([])
    }
  })

  it('a body is not a request if its method has none', async () => {
    const { port, bodies } = await serverOf(kind)
    const head = `GET /realtime HTTP/1.1\r\nHost: t\r\nContent-Length: ${HIDDEN.length}\r\n\r\n`
    const socket = openSocket(port)
    await socket.send(`${head}${HIDDEN}`)
    expect((await socket.answer())?.status).toBe(405)
    await socket.send(post('{}'))
    expect((await socket.answer())?.status).toBe(200)
    expect(bodies).toEqual(['{}'])
    socket.destroy()
  })

  it('a request for another host is not served', async () => {
    const { port, bodies } = await serverOf(kind)
    const socket = openSocket(port)
    await socket.send(`${post('{}').replace('/realtime', 'http://other/realtime')}`)
    expect([400, 505]).toContain((await socket.answer())?.status)
    expect(bodies).toEqual([])
    socket.destroy()
  })

  it.each(['t', 't:8080', '127.0.0.1:1', '[::1]:1', '[::1]', 'b-c_d~x', ''])(
    'the host "%s" is accepted',
    async (host) => {
      const { port } = await serverOf(kind)
      const socket = openSocket(port)
      await socket.send(post('{}').replace('Host: t', `Host: ${host}`))
      expect((await socket.answer())?.status).toBe(200)
      socket.destroy()
    },
  )
})

describe('chunked bodies', () => {
  const HEAD = 'POST /realtime HTTP/1.1\r\nHost: t\r\nTransfer-Encoding: chunked\r\n\r\n'

  it('are refused with 411 by the native server, before and after they have arrived', async () => {
    const { port, bodies } = await serverOf('native')
    for (const body of ['', '2\r\n{}\r\n', '2\r\n{}\r\n0\r\n\r\n', `0\r\n\r\n${HIDDEN}`]) {
      const socket = openSocket(port)
      await socket.send(`${HEAD}${body}`)
      const answer = await socket.answer()
      expect(answer, String(socket.error())).toMatchObject({ status: 411 })
      expect(answer?.headers.get('connection')).toBe('close')
      expect(JSON.parse(answer?.body ?? '')).toMatchObject({ returnCode: -20 })
      socket.destroy()
    }
    expect(bodies).toEqual([])
  })

  it.each(KINDS)(
    'of 10 MB leave the answer readable before the connection ends: %s',
    async (kind) => {
      const { port, bodies } = await serverOf(kind)
      const socket = connect({ port, host: '127.0.0.1' })
      let received = ''
      let hasEnded = false
      const errors: Error[] = []
      socket.on('data', (bytes) => {
        received += bytes
      })
      socket.on('close', () => {
        hasEnded = true
      })
      socket.on('error', (error) => errors.push(error))
      socket.write(HEAD)
      const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
      for (let index = 0; index < 10; index += 1) socket.write(chunk)
      socket.write('0\r\n\r\n')
      await waitUntil('the end', () => hasEnded)
      // A client that has read the end sends no more, and the connection is not reset.
      expect(errors).toEqual([])
      expect(received).toMatch(kind === 'native' ? /^HTTP\/1.1 411 / : /^HTTP\/1.1 413 /)
      expect(received).toMatch(/\r\nConnection: close\r\n/i)
      expect(bodies).toEqual([])
      socket.destroy()
    },
  )

  it('without an end are disconnected', { timeout: 60_000 }, async () => {
    for (const kind of KINDS) {
      const { port } = await serverOf(kind)
      const socket = connect({ port, host: '127.0.0.1' })
      let hasEnded = false
      socket.on('error', () => undefined)
      socket.on('data', () => undefined)
      socket.on('close', () => {
        hasEnded = true
      })
      const chunk = `100000\r\n${'x'.repeat(0x100000)}\r\n`
      const more = () => {
        while (!hasEnded && socket.write(chunk));
      }
      socket.on('drain', more)
      socket.write(HEAD)
      more()
      await waitUntil('the end', () => hasEnded)
    }
  })
})
