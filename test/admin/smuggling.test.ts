/** Requests behind a request with an ambiguous end: none of them reaches a route. */
import { describe, expect, it } from 'vitest'
import { bareServer } from '../support/admin/bare.ts'
import { openSocket } from '../support/realtime/http/socket.ts'
import { atEveryCut, exchange, REFUSALS, smuggledRequests } from '../support/smuggling.ts'

const HEADERS = 'Content-Type: application/json\r\n'
const hidden = '{"hidden":1}'
const HIDDEN = [
  `POST /hidden HTTP/1.1\r\nHost: t\r\n${HEADERS}`,
  `Content-Length: ${hidden.length}\r\n\r\n${hidden}`,
].join('')
const ROWS = smuggledRequests({ line: 'POST /here', headers: HEADERS }, HIDDEN)

async function startServer() {
  const ran: string[] = []
  const { port } = await bareServer((server) => {
    for (const path of ['/here', '/hidden']) {
      server.post(path, async () => {
        ran.push(path)
        return { status: 1 }
      })
    }
  })
  return { port, ran }
}

describe('the control plane', () => {
  it.each(ROWS)('$name: is refused, and nothing behind it runs', async ({ name, text }) => {
    const { port, ran } = await startServer()
    const { first, second } = await exchange(port, [text])
    expect(second).toBeNull()
    expect(ran).toEqual([])
    // Node itself ends an HTTP/1.0 connection with anything behind the first request.
    if (first === null) return expect(name).toBe('chunks in HTTP/1.0')
    expect(REFUSALS).toContain(first.status)
    expect(first.headers.get('connection')).toBe('close')
    expect(JSON.parse(first.body)).toMatchObject({ status: 0, code: first.status })
  })

  it('runs nothing behind it where TCP splits at any byte', { timeout: 240_000 }, async () => {
    const { port, ran } = await startServer()
    for (const { name, text } of ROWS) {
      await atEveryCut(text, async (parts, cut) => {
        const { second } = await exchange(port, parts)
        expect(second, `${name} at ${cut}`).toBeNull()
      })
      expect(ran, name).toEqual([])
    }
  })

  it.each([
    ['announced', (size: number) => `Content-Length: ${size}\r\n\r\n`, ''],
    ['in chunks', (size: number) => chunkHead(size), '\r\n0\r\n\r\n'],
  ])('answers 10 MB %s with a readable 413, and the connection ends', async (_how, headOf, end) => {
    const { port, ran } = await startServer()
    const body = 'x'.repeat(10 * 1024 * 1024)
    const socket = openSocket(port)
    await socket.connected
    const head = `POST /here HTTP/1.1\r\nHost: t\r\n${HEADERS}${headOf(body.length)}`
    void socket.send(`${head}${body}${end}`)
    const answer = await socket.answer()
    expect(answer).toMatchObject({ status: 413 })
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({ status: 0, code: 413 })
    await socket.closed()
    expect(socket.error()).toBeNull()
    expect(ran).toEqual([])
  })
})

function chunkHead(size: number): string {
  return `Transfer-Encoding: chunked\r\n\r\n${size.toString(16)}\r\n`
}
