/**
 * Requests that two programs could delimit in two ways (RFC 9112, 11.2), each with a second one
 * hidden behind it. The same for every HTTP server.
 */
import { openSocket } from './realtime/http/socket.ts'

export interface Smuggled {
  readonly name: string
  readonly text: string
  /** uWebSockets.js reads an incomplete head, and ends the connection later without an answer. */
  readonly isSilent: boolean
}

export interface Target {
  readonly line: string
  /** Headers of every request. */
  readonly headers: string
}

const CHUNKED = 'Transfer-Encoding: chunked\r\n'

/** Concurrent connections when a text is cut at every byte. */
const AT_ONCE = 16

/** Sends these parts on a new connection, each to be read separately. */
export async function sendParts(port: number, parts: readonly string[]) {
  const socket = openSocket(port)
  await socket.connected
  for (const part of parts) {
    await socket.send(Buffer.from(part, 'latin1'))
    await new Promise((resolve) => setImmediate(resolve))
  }
  return socket
}

/** Both answers of a connection to these parts, when it has ended. */
export async function exchange(port: number, parts: readonly string[]) {
  const socket = await sendParts(port, parts)
  const first = await socket.answer()
  const second = await socket.answer()
  await socket.closed()
  return { first, second }
}

/** Calls `send` with the text in two parts, for every byte at which it can be cut. */
export async function atEveryCut(
  text: string,
  send: (parts: readonly [string, string], cut: number) => Promise<void>,
): Promise<void> {
  const cuts = Array.from({ length: text.length - 1 }, (_, index) => index + 1)
  for (let from = 0; from < cuts.length; from += AT_ONCE) {
    const some = cuts.slice(from, from + AT_ONCE)
    await Promise.all(some.map((cut) => send([text.slice(0, cut), text.slice(cut)], cut)))
  }
}

type Row = readonly [name: string, text: string, more?: { readonly isSilent: boolean }]

/** The permitted status codes of answers. */
export const REFUSALS = [400, 411, 505]

/** `hidden`: the request that must never run, with its correct length. */
export function smuggledRequests({ line, headers }: Target, hidden: string): Smuggled[] {
  const host = 'Host: t\r\n'
  const head = `${line} HTTP/1.1\r\n${host}${headers}`
  const with0 = (header: string, body = '') => `${head}${header}\r\n${body}${hidden}`
  const inside = (header: string) => with0(`${header}Content-Length: ${hidden.length}\r\n`)
  const silent = { isSilent: true }
  const rows: Row[] = [
    ['two lengths', with0(`Content-Length: 0\r\nContent-Length: ${hidden.length}\r\n`)],
    ['two equal lengths', with0('Content-Length: 2\r\nContent-Length: 2\r\n', 'ab')],
    ['a list of lengths', with0('Content-Length: 2, 2\r\n', 'ab')],
    ['a length with a sign', with0('Content-Length: +2\r\n', 'ab')],
    ['a negative length', with0('Content-Length: -2\r\n', 'ab')],
    ['a hexadecimal length', with0('Content-Length: 0x2\r\n', 'ab')],
    ['a length with a blank inside', with0('Content-Length: 2 0\r\n', 'ab')],
    ['a length with a fraction', with0('Content-Length: 2.0\r\n', 'ab')],
    ['an empty length', with0('Content-Length:\r\n')],
    ['a length over 2^64', with0('Content-Length: 18446744073709551618\r\n', 'ab')],
    ['a length and chunks', with0(`Content-Length: 5\r\n${CHUNKED}`, '0\r\n\r\n')],
    ['chunks and a length', with0(`${CHUNKED}Content-Length: 5\r\n`, '0\r\n\r\n')],
    ['an empty encoding and a length', with0('Transfer-Encoding:\r\nContent-Length: 2\r\n', 'ab')],
    ['an encoding behind chunked', with0('Transfer-Encoding: chunked, identity\r\n', '0\r\n\r\n')],
    ['an encoding before chunked', with0('Transfer-Encoding: gzip, chunked\r\n', '0\r\n\r\n')],
    ['no chunked encoding', with0('Transfer-Encoding: identity\r\n')],
    ['an unknown encoding', with0('Transfer-Encoding: xchunked\r\n', '0\r\n\r\n')],
    ['a quoted encoding', with0('Transfer-Encoding: "chunked"\r\n', '0\r\n\r\n')],
    ['two encodings', with0(`${CHUNKED}${CHUNKED}`, '0\r\n\r\n')],
    ['two encodings that differ', with0(`${CHUNKED}Transfer-Encoding: x\r\n`, '0\r\n\r\n')],
    ['chunks in HTTP/1.0', `${line} HTTP/1.0\r\n${host}${headers}${CHUNKED}\r\n0\r\n\r\n${hidden}`],
    ['a blank before the colon', inside('X : y\r\n'), silent],
    ['a blank before the colon of an encoding', with0('Transfer-Encoding : x\r\n'), silent],
    ['a tab before the colon', with0('Content-Length\t: 0\r\n'), silent],
    ['a folded header', inside('X: a\r\n b\r\n'), silent],
    ['a folded encoding', with0('Transfer-Encoding:\r\n chunked\r\n', '0\r\n\r\n'), silent],
    ['a blank before the first header', `${line} HTTP/1.1\r\n ${host}\r\n${hidden}`, silent],
    ['bare LF', `${head.replaceAll('\r\n', '\n')}Content-Length: 0\n\n${hidden}`],
    ['one bare LF', with0('X: a\nContent-Length: 0\r\n'), silent],
    ['bare CR', with0('X: a\rContent-Length: 0\r\n'), silent],
    ['NUL in a value', with0('X: a\0b\r\nContent-Length: 0\r\n'), silent],
    ['NUL in a name', with0('X\0: a\r\nContent-Length: 0\r\n'), silent],
    ['a control character in an encoding', with0('Transfer-Encoding: \x0bchunked\r\n'), silent],
    ['a header without a colon', with0('Nothing\r\nContent-Length: 0\r\n'), silent],
    ['a header without a name', inside(': y\r\n')],
    ['two hosts', with0(`${host}Content-Length: 0\r\n`)],
    ['two hosts that differ', with0('Host: u\r\nContent-Length: 0\r\n')],
    ['no host', `${line} HTTP/1.1\r\n${headers}Content-Length: 0\r\n\r\n${hidden}`],
    ...['a b', 'a, b', 'a/b', 'u@a', 'a:b', 'a:1:2'].map((bad): Row => {
      const named = `Host: ${bad}\r\n${headers}Content-Length: 0\r\n`
      return [`the host ${bad}`, `${line} HTTP/1.1\r\n${named}\r\n${hidden}`]
    }),
    ['another version', `${line} HTTP/1.2\r\n${host}${headers}Content-Length: 0\r\n\r\n${hidden}`],
    ...chunkRows(`${head}${CHUNKED}\r\n`, hidden),
  ]
  return rows.map(([name, text, more]) => ({ name, text, isSilent: more?.isSilent ?? false }))
}

function chunkRows(head: string, hidden: string): Row[] {
  const rows: [name: string, body: string][] = [
    ['no line end behind a chunk', '2\r\nabXX0\r\n\r\n'],
    ['a chunk longer than told', '1\r\nab\r\n0\r\n\r\n'],
    ['a negative chunk', '-2\r\nab\r\n0\r\n\r\n'],
    ['a chunk with a sign', '+2\r\nab\r\n0\r\n\r\n'],
    ['a chunk with 0x', '0x2\r\nab\r\n0\r\n\r\n'],
    ['a chunk over 2^64', '10000000000000002\r\nab\r\n0\r\n\r\n'],
    ['no size of a chunk', '\r\nab\r\n0\r\n\r\n'],
    ['a blank before the size', ' 2\r\nab\r\n0\r\n\r\n'],
    ['LF behind the size', '2\nab\r\n0\r\n\r\n'],
    ['CR behind the size', '2\rab\r\n0\r\n\r\n'],
    ['LF behind a chunk', '2\r\nab\n0\r\n\r\n'],
    ['a request in a trailer', '0\r\nX:'],
    ['an extension with a line end', '2;x="\r\nab\r\n0\r\n\r\n"\r\nab\r\n0\r\n\r\nX'],
  ]
  return rows.map(([name, body]) => [name, `${head}${body}${hidden}`])
}
