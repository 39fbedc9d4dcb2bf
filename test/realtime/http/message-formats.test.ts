/** The file type and message of a request, and the format of errors. */
import { describe, expect, it } from 'vitest'
import { BODY_BYTES_MAX, formats, KINDS, serverOf } from '../../support/realtime/http/server-of.ts'
import { openSocket } from '../../support/realtime/http/socket.ts'

const FORM = 'application/x-www-form-urlencoded'

interface Sent {
  method?: string
  body?: string
  type?: string
  header?: string
}

/** Sends one request as given, and returns its answer. */
async function send(port: number, target: string, sent: Sent = {}) {
  const { method = 'POST', body = '', type = '', header = '' } = sent
  const socket = openSocket(port)
  const contentType = type === '' ? '' : `Content-Type: ${type}\r\n`
  const length = method === 'GET' ? '' : `Content-Length: ${Buffer.byteLength(body)}\r\n`
  const head = `${method} ${target} HTTP/1.1\r\nHost: t\r\n${contentType}${length}${header}\r\n`
  await socket.send(`${head}${body}`)
  const answer = await socket.answer()
  socket.destroy()
  return answer
}

describe.each(KINDS)('the file type of a request: %s', (kind) => {
  it.each([
    ['/realtime', 'json'],
    ['/realtime?', 'json'],
    ['/realtime?a=b', 'json'],
    ['/realtime?file_type=', 'json'],
    ['/realtime/json', 'json'],
    ['/realtime/gy', 'gy'],
    ['/realtime/gy?a=%zz&b', 'gy'],
    ['/realtime?file_type=gy', 'gy'],
    ['/realtime?a=b&file_type=%67y', 'gy'],
    ['/realtime/gy?file_type=gy', 'gy'],
    ['/realtime/pairs', 'pairs'],
    ['/realtime/xml?x', 'xml'],
  ])('is read from %s', async (target, fileType) => {
    const { port, arrivals, bodies } = await serverOf(kind)
    expect(await send(port, target, { body: 'x' })).toMatchObject({ status: 200 })
    expect(bodies).toEqual(['x'])
    expect(arrivals).toMatchObject([{ fileType, origin: 'http', peer: '' }])
  })

  it.each([
    ['/realtime/', 404, 'path is unknown'],
    ['/realtime//gy', 404, 'path is unknown'],
    ['//realtime', 404, 'path is unknown'],
    ['//realtime/gy', 404, 'path is unknown'],
    ['/realtime/gy/', 404, 'path is unknown'],
    ['/realtime/gy/x', 404, 'path is unknown'],
    ['/realtime/g-y', 404, 'path is unknown'],
    ['/realtime/g%79', 404, 'path is unknown'],
    ['/realtime/%2e%2e/gy', 404, 'path is unknown'],
    ['/realtime/../realtime', 404, 'path is unknown'],
    ['/./realtime', 404, 'path is unknown'],
    ['/%72ealtime', 404, 'path is unknown'],
    ['/Realtime/gy', 404, 'path is unknown'],
    ['/realtimegy', 404, 'path is unknown'],
    [`/realtime/${'x'.repeat(65)}`, 404, 'path is unknown'],
    ['/realtime/nobody', 404, 'file_type nobody is unknown'],
    ['/realtime/constructor', 404, 'file_type constructor is unknown'],
    ['/realtime?file_type=nobody', 404, 'file_type nobody is unknown'],
    ['/realtime/off', 404, 'file_type off is disabled'],
    ['/realtime/broken', 404, 'file_type broken cannot be used: parser.type must be text'],
    ['/realtime/gy?file_type=xml', 400, 'file_type differs from the one given before'],
    ['/realtime?file_type=gy&file_type=gy', 400, 'file_type must be given once'],
    ['/realtime?file_type=%3Cscript%3E', 400, 'file_type must have 1 to 64 letters'],
    ['/realtime?file_type=g%y', 400, 'file_type must have 1 to 64 letters'],
    [`/realtime?file_type=${'x'.repeat(65)}`, 400, 'file_type must have 1 to 64 letters'],
  ])('is not read from %s', async (target, status, why) => {
    const { port, bodies } = await serverOf(kind)
    const answer = await send(port, target, { body: '{}' })
    expect(answer?.status).toBe(status)
    expect(answer?.headers.get('content-type')).toBe('application/json')
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      returnCode: -20,
      desc: expect.stringContaining(`Malformed request: ${why}`),
    })
    expect(answer?.body).not.toContain('<script>')
    expect(bodies).toEqual([])
  })

  it('that is not known yet is an outage', async () => {
    const { port } = await serverOf(kind)
    const answer = await send(port, '/realtime/later', { body: '{}' })
    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '1'])
    expect(JSON.parse(answer?.body ?? '')).toMatchObject({
      returnCode: -91,
      desc: expect.stringContaining('file_type later is not known yet'),
    })
  })

  it('is the default one otherwise', async () => {
    const { port, arrivals } = await serverOf(kind, {
      messageFormats: { ...formats, defaultName: 'gy' },
    })
    expect((await send(port, '/realtime', { body: '{}' }))?.status).toBe(200)
    expect((await send(port, '/realtime/json', { body: '{}' }))?.status).toBe(200)
    expect(arrivals.map(({ fileType }) => fileType)).toEqual(['gy', 'json'])
  })
})

describe.each(KINDS)('a form: %s', (kind) => {
  it.each([
    ['/realtime', 'request=%7B%22a%22%3A%22x+y%22%7D', 'json', '{"a":"x y"}'],
    ['/realtime', 'file_type=gy&request=%7B%7D&more=%zz', 'gy', '{}'],
    ['/realtime/gy', 'request=1&file_type=gy', 'gy', '1'],
    ['/realtime?file_type=pairs', 'request=a%3D1%26b%3D2', 'pairs', 'a=1&b=2'],
    ['/realtime', 'file_type=pairs&a=1&b=%41', 'pairs', 'file_type=pairs&a=1&b=%41'],
    ['/realtime/pairs', 'a=1&b=2', 'pairs', 'a=1&b=2'],
    ['/realtime/pairs', 'a=1&request=', 'pairs', 'a=1&request='],
    ['/realtime', '{"curl":"100%&request=x"}', 'json', '{"curl":"100%&request=x"}'],
    ['/realtime/xml', '<a>50%</a>', 'xml', '<a>50%</a>'],
    ['/realtime/gy', '', 'gy', ''],
  ])('to %s with %s is read', async (target, body, fileType, message) => {
    const { port, arrivals, bodies } = await serverOf(kind)
    expect((await send(port, target, { body, type: `${FORM}; charset=utf-8` }))?.status).toBe(200)
    expect(bodies).toEqual([message])
    expect(arrivals).toMatchObject([{ fileType }])
  })

  it.each([
    ['/realtime', 'request=%', 400, 'application/json', 'request has a % without two'],
    ['/realtime/gy', 'request=a%4', 400, 'application/json', 'gy: request has a % without two'],
    ['/realtime/xml', 'request=1&request=2', 400, 'application/xml', 'xml: request must be given'],
    ['/realtime/xml', 'file_type=gy', 400, 'application/xml', 'xml: file_type differs from'],
    ['/realtime', 'file_type=off', 404, 'application/json', 'Malformed request: file_type off is'],
    ['/realtime/off', 'request=1', 404, 'application/json', 'Malformed request: file_type off is'],
  ])('to %s with %s is refused', async (target, body, status, type, why) => {
    const { port, bodies } = await serverOf(kind)
    const answer = await send(port, target, { body, type: FORM })
    expect([answer?.status, answer?.headers.get('content-type')]).toEqual([status, type])
    expect(answer?.body).toContain(why)
    expect(bodies).toEqual([])
  })

  it('is only read as such if its content type declares it', async () => {
    const { port, bodies } = await serverOf(kind)
    await send(port, '/realtime', { body: 'request=1' })
    await send(port, '/realtime', { body: 'request=1', type: 'application/json' })
    await send(port, '/realtime/pairs', { body: 'request=1', type: 'text/plain' })
    expect(bodies).toEqual(['request=1', 'request=1', 'request=1'])
  })

  it.each(['%', '&', 'a=1&', 'request&', 'file_type&'])(
    'of a megabyte of %s is answered once, and affects no other client',
    async (piece) => {
      const bodyBytesMax = 2 ** 20
      const { port, bodies } = await serverOf(kind, { bodyBytesMax })
      const body = `request=1&${piece.repeat(bodyBytesMax)}`.slice(0, bodyBytesMax)
      expect(await send(port, '/realtime', { body, type: FORM })).toMatchObject({ status: 200 })
      expect(bodies).toEqual(['1'])
      const value = `request=${piece.repeat(bodyBytesMax)}`.slice(0, bodyBytesMax)
      const status = piece === '%' ? 400 : 200
      expect(await send(port, '/realtime', { body: value, type: FORM })).toMatchObject({ status })
    },
  )

  it('that is too long is refused in the message format of its head', async () => {
    const { port } = await serverOf(kind)
    const body = 'x'.repeat(BODY_BYTES_MAX + 1)
    const plain = await send(port, '/realtime', { body, type: FORM })
    expect([plain?.status, plain?.body]).toEqual([413, expect.stringContaining('"desc"')])
    const named = await send(port, '/realtime/pairs', { body, type: FORM })
    expect([named?.status, named?.body]).toEqual([413, 'pairs: body must have at most 65536 bytes'])
  })
})

describe.each(KINDS)('a GET: %s', (kind) => {
  it.each([
    ['/realtime/pairs?a=1&b=%20+2', 'a=1&b=%20+2'],
    ['/realtime?a=1&file_type=pairs&b=2', 'a=1&b=2'],
    ['/realtime/pairs', ''],
    ['/realtime/pairs?a=1&request=x%3D1%26y', 'x=1&y'],
    ['/realtime/asked?request=%7B%22a%22%3A1%7D', '{"a":1}'],
  ])('%s is read', async (target, message) => {
    const { port, bodies } = await serverOf(kind)
    const answer = await send(port, target, { method: 'GET' })
    expect([answer?.status, answer?.headers.get('cache-control')]).toEqual([200, 'no-store'])
    expect(bodies).toEqual([message])
  })

  it.each([
    ['GET', '/realtime', 405, 'POST', 'method must be POST'],
    ['GET', '/realtime/gy?request=1', 405, 'POST', 'gy: method must be POST'],
    ['PUT', '/realtime/pairs', 405, 'GET, POST', 'pairs: method must be GET or POST'],
    ['DELETE', '/realtime/off', 404, undefined, 'file_type off is disabled'],
    ['GET', '/realtime/asked', 400, undefined, 'asked: request is required in the query'],
    ['GET', '/realtime/asked?request=', 400, undefined, 'asked: request is required in the query'],
    ['GET', '/realtime/pairs?request=%', 400, undefined, 'pairs: request has a % without'],
    ['GET', '/realtime/pairs?request=1&request=2', 400, undefined, 'request must be given once'],
  ])('%s %s is refused', async (method, target, status, allow, why) => {
    const { port, bodies } = await serverOf(kind)
    const answer = await send(port, target, { method })
    expect([answer?.status, answer?.headers.get('allow')]).toEqual([status, allow])
    expect(answer?.body).toContain(why)
    expect(bodies).toEqual([])
  })

  it('is limited like a body', async () => {
    const { port } = await serverOf(kind, { bodyBytesMax: 100 })
    const answer = await send(port, `/realtime/pairs?${'a'.repeat(101)}`, { method: 'GET' })
    expect([answer?.status, answer?.body]).toEqual([413, 'pairs: body must have at most 100 bytes'])
  })

  it('keeps Retry-After when it fails', async () => {
    const { port } = await serverOf(kind, { charge: (_arrival, answer) => answer('storeDown', '') })
    const answer = await send(port, '/realtime/pairs', { method: 'GET' })
    expect([answer?.status, answer?.headers.get('retry-after')]).toEqual([503, '1'])
  })
})

describe.each(KINDS)('content types and answers: %s', (kind) => {
  it.each([
    ['json', 'text/json', 200, 'application/json'],
    ['gy', 'application/vnd.3gpp+json', 200, 'application/json'],
    ['gy', 'application/xml', 415, 'gy: content-type must be application/json'],
    ['xml', 'text/xml', 200, 'application/xml'],
    ['xml', 'application/json', 415, 'xml: content-type must be application/xml'],
    ['pairs', 'text/plain', 200, 'text/plain'],
    [
      'pairs',
      'application/json',
      415,
      'pairs: content-type must be application/x-www-form-urlencoded or text/plain',
    ],
  ])('%s with %s: %i', async (fileType, type, status, expected) => {
    const { port } = await serverOf(kind)
    const answer = await send(port, `/realtime/${fileType}`, { body: 'x', type })
    expect(answer?.status).toBe(status)
    if (status === 200) expect(answer?.headers.get('content-type')).toBe(expected)
    else expect(answer?.body).toBe(expected)
  })
})
