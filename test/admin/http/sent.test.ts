/** The sent parameters in their order, which signatures cover. */
import { fastify } from 'fastify'
import { beforeAll, describe, expect, it } from 'vitest'
import { readParameters, registerBodies } from '../../../src/admin/http/body.ts'
import { signedText } from '../../../src/catalog/signature/signed-text.ts'
import { ApiError } from '../../../src/requests/errors.ts'
import { useOpened } from '../../support/opened.ts'

let url = ''
/** Answers with the text that the request would have to sign. */
const server = useOpened(() => fastify({ forceCloseConnections: true }))
beforeAll(async () => {
  server().setErrorHandler((error, _request, reply) =>
    reply.code(400).send(error instanceof ApiError ? error.message : 'not ours'),
  )
  server().register(async (scope) => {
    registerBodies(scope)
    scope.all('/', async (request, reply) => {
      const uploads = { filesMax: 1, fileBytesMax: 1000 }
      const { ordered: sent, dispose } = await readParameters(request, reply, uploads)
      await dispose()
      return signedText(sent)
    })
  })
  url = await server().listen({ port: 0, host: '127.0.0.1' })
})

async function textOf(query: string, init: RequestInit = {}): Promise<string> {
  return (await fetch(`${url}/${query}`, { method: 'POST', ...init })).text()
}

const form = (body: string) => ({
  headers: { 'content-type': 'application/x-www-form-urlencoded' },
  body,
})
const json = (body: string) => ({ headers: { 'content-type': 'application/json' }, body })

describe('the order of sending', () => {
  it('is that of the query string, then of the body, whose values have priority', async () => {
    expect(await textOf('?b=1&a=2&_t_=5', form('c=3&b=9&_sig_=x'))).toBe(
      '{"b":"9","a":"2","_t_":"5","c":"3"}',
    )
    expect(await textOf('?_sig_=x&_t_=5&b=1&a=2', { method: 'GET' })).toBe(
      '{"_t_":"5","b":"1","a":"2"}',
    )
  })

  it('is kept if names are numbers', async () => {
    const nested = 'q[10]=a&q[9]=b&l[0]=x&l[1]=y'
    const text = '{"q":{"10":"a","9":"b"},"l":["x","y"],"20":"z","3":"w"}'
    expect(await textOf('?signature=x', form(`${nested}&20=z&3=w`))).toBe(text)
    expect(await textOf('', json(`{"signature":"x",${text.slice(1)}`))).toBe(text)
  })

  it('is that of the fields of a multipart body, without its files', async () => {
    const body = new FormData()
    body.append('b', 'é')
    body.append('file', new Blob(['content']), 'a.csv')
    body.append('a[x]', '1')
    body.append('_sig_', 'x')
    expect(await textOf('?c=0', { body })).toBe(String.raw`{"c":"0","b":"\u00e9","a":{"x":"1"}}`)
  })

  it('is that of the members of JSON, after a query string, with their values', async () => {
    const body = json('{"page":2,"query":{"sid":17,"x":[1.50,true,null,{}]},"_sig_":"x"}')
    const text = '{"page":2,"a":"0","query":{"sid":17,"x":[1.5,true,null,[]]}}'
    expect(await textOf('?page=1&a=0', body)).toBe(text)
  })

  it('of JSON with a duplicate member is refused if the first one is too deep', async () => {
    const deep = `{"a":${'['.repeat(40)}${']'.repeat(40)},"a":1,"_sig_":"x"}`
    expect(await textOf('', json(deep))).toBe('body is nested deeper than 32 levels')
  })
})
