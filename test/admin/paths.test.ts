/** No route is reachable by another spelling of its address or another method. */
import { connect } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { bareServer, sendRaw } from '../support/admin/bare.ts'

const reached: string[] = []
afterEach(() => {
  reached.length = 0
})

/**
 * Like the authorisation guard: the access of the route decides, in any spelling of the address.
 */
async function gated() {
  const { port } = await bareServer((server) => {
    server.addHook('onRequest', async (request, reply) => {
      if (request.is404 || request.routeOptions.config.access === 'public') return
      if (request.headers.authorization === 'Bearer good') return
      return reply.code(401).send({ status: 0 })
    })
    const take = (name: string) => async () => {
      reached.push(name)
      return { status: 1 }
    }
    const open = { config: { access: 'public' } } as const
    const closed = { config: { access: ['admin'] } } as const
    server.get('/open', open, take('open'))
    server.get('/open/:name', open, take('open'))
    server.get('/closed', closed, take('closed'))
    server.post('/closed', closed, take('closed'))
    server.post('/closed/:name/:action', closed, take('closed'))
  })
  const ask = (line: string, headers = '') =>
    sendRaw(port, `${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}\r\n`)
  return { port, ask }
}

const WAYS = [
  '/closed',
  '//closed',
  '/./closed',
  '/open/../closed',
  '/open/%2e%2e/closed',
  '/open/%2E%2E%2Fclosed',
  '/open/..%2fclosed',
  '/open/..%5cclosed',
  '/open/..\\closed',
  '/open;/closed',
  '/open;/../closed',
  '/closed;',
  '/closed;a=b',
  '/closed/',
  '/closed//',
  '/closed%2f',
  '/closed%00',
  '/closed%00.json',
  '/closed%0a',
  '/closed%20',
  '/closed.',
  '/closed?x',
  '/closed?/open',
  '/closed#/open',
  '/closed%23/open',
  '/closed%3f/open',
  '/%63losed',
  '/%63%6c%6f%73%65%64',
  '/%2563losed',
  '/CLOSED',
  '/Closed',
  '/closed/users/update',
  '/closed//users/update',
  '/closed/users%2fupdate',
  '/closed/%2e%2e/update',
  '/open/%c0%ae%c0%ae/closed',
  '/%c0%afclosed',
  '/closed%',
  '/closed%zz',
  '/closed%u002f',
]

describe('an address', () => {
  it.each(WAYS)('%s leads to no protected route without credentials', async (path) => {
    const { port } = await gated()
    for (const method of ['GET', 'POST', 'HEAD', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await exchange(port, `${method} ${path}`)
      expect(answer, `${method} ${path}`).toMatch(/^HTTP\/1\.1 (200|400|401|404) /)
      expect(reached.filter((name) => name === 'closed')).toEqual([])
    }
  })

  it('of a protected route is the same with credentials', async () => {
    const { ask } = await gated()
    const good = 'Authorization: Bearer good\r\n'
    expect((await ask('GET /closed', good))?.status).toBe(200)
    expect((await ask('GET /%63losed', good))?.status).toBe(200)
    expect((await ask('GET //closed', good))?.status).toBe(404)
    expect((await ask('GET /CLOSED', good))?.status).toBe(404)
    expect(reached).toEqual(['closed', 'closed'])
  })
})

describe('a method', () => {
  it.each(['HEAD', 'TRACE', 'OPTIONS', 'PROPFIND', 'QUERY', 'PUT'])(
    '%s does not bypass the protection of GET',
    async (method) => {
      const { port } = await gated()
      const answer = await exchange(port, `${method} /closed`, 'X-Marked: marked\r\n')
      expect(answer).toMatch(/^HTTP\/1\.1 (400|401|404) /)
      // Nothing of the request is echoed (TRACE).
      expect(answer).not.toContain('marked')
      expect(reached).toEqual([])
    },
  )

  it('is the one of the request line, whatever headers and parameters say', async () => {
    const { ask } = await gated()
    const headers = [
      'X-HTTP-Method-Override: POST',
      'X-HTTP-Method: POST',
      'X-Method-Override: POST',
      'X-Original-URL: /closed',
      'X-Rewrite-URL: /closed',
      'X-Forwarded-Prefix: /closed',
      'X-Forwarded-For: 127.0.0.1',
    ]
    const answer = await ask('GET /open?_method=POST', `${headers.join('\r\n')}\r\n`)
    expect([answer?.status, reached]).toEqual([200, ['open']])
  })
})

/** Everything until the server ends the connection, as the request demands. */
async function exchange(port: number, line: string, headers = ''): Promise<string> {
  const socket = connect({ port, host: '127.0.0.1' })
  socket.write(`${line} HTTP/1.1\r\nHost: 127.0.0.1\r\n${headers}Connection: close\r\n\r\n`)
  let all = ''
  for await (const part of socket) all += String(part)
  return all
}
