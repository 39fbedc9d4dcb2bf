import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises'
import { request as httpRequest } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type FastifyInstance, fastify } from 'fastify'
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { bodyErrorOf, readParameters, registerBodies } from '../../../src/admin/http/body.ts'
import type { UploadLimits } from '../../../src/admin/http/multipart.ts'
import { ApiError } from '../../../src/requests/errors.ts'

const servers: FastifyInstance[] = []
/** Uploads of this test file. */
let folder = ''
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uploads-of-test-'))
  vi.stubEnv('TMPDIR', folder)
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await rm(folder, { recursive: true })
})
afterEach(async () => {
  for (const server of servers.splice(0)) await server.close()
})

/** A server that answers with the parameters it has read, over a real socket. */
async function listening(uploads?: UploadLimits): Promise<string> {
  const server = fastify({ forceCloseConnections: true })
  servers.push(server)
  server.setErrorHandler((error, _request, reply) => {
    const known = bodyErrorOf(error)
    if (known instanceof ApiError) return reply.code(known.httpStatus).send(known.body())
    return reply.code(500).send({ status: 0, text: String(error) })
  })
  server.register(async (scope) => {
    registerBodies(scope)
    scope.all('/echo', async (request, reply) => {
      const { values, files, dispose } = await readParameters(request, reply, uploads)
      const contents = await Promise.all(files.map(({ path }) => readFile(path, 'utf8')))
      await dispose()
      const shown = files.map(({ field, fileName, bytes }) => ({ field, fileName, bytes }))
      return { values: Object.fromEntries(values), files: shown, contents }
    })
  })
  return `${await server.listen({ port: 0, host: '127.0.0.1' })}/echo`
}

interface Answer {
  readonly values: Readonly<Record<string, unknown>>
  readonly message: string
  readonly data: { readonly message: string }
}

async function ask(url: string, init?: RequestInit) {
  const response = await fetch(url, init)
  return { status: response.status, body: (await response.json()) as Answer }
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const JSON_TYPE = { 'content-type': 'application/json' }

async function form(url: string, body: string) {
  return await ask(url, { method: 'POST', headers: FORM, body })
}

describe('forms and query strings', () => {
  it('are read from a query string, a form, and both: the form has priority', async () => {
    const url = await listening()
    expect(await ask(`${url}?query=%7B%22sid%22%3A18%7D&page=0`)).toMatchObject({
      status: 200,
      body: { values: { query: '{"sid":18}', page: '0' } },
    })
    expect((await form(`${url}?page=0&size=5`, 'size=7&name=a+b%2B')).body.values).toEqual({
      page: '0',
      size: '7',
      name: 'a b+',
    })
  })

  it('have the last of repeated names, and brackets as objects and lists', async () => {
    const url = await listening()
    const body = 'a=1&a=2&query[sid]=1&query[name][$in][]=A&query[name][$in][]=B&states[1]=x'
    expect((await form(url, `${body}&states[0]=0&files[0]=z&odd[=1`)).body.values).toEqual({
      a: '2',
      query: { sid: '1', name: { $in: ['A', 'B'] } },
      states: { 1: 'x', 0: '0' },
      files: ['z'],
      'odd[': '1',
    })
  })

  it.each([
    ['__proto__=1', '__proto__ is a name'],
    ['query[__proto__][x]=1', '__proto__ is a name'],
    ['query[a][constructor]=1', 'constructor is a name'],
    ['a=%E0%A4%A', 'parameter a is not valid form encoding'],
    ['a[1]=x&a[]=y', 'mixes [] with numbers'],
    [`a${'[x]'.repeat(40)}=1`, 'nested deeper than 32'],
    [`${'n'.repeat(2_000)}=1`, 'too long'],
    ['a&'.repeat(10_001), 'more than 10000 parameters'],
    // Each name nests in its own objects: a small text that needs a lot of memory.
    [
      Array.from({ length: 400 }, (_, i) => `a${i}${'[x]'.repeat(29)}=`).join('&'),
      'more than 10000 parameters',
    ],
  ])('%s are refused', async (body, text) => {
    const { status, body: answer } = await form(await listening(), body)
    expect(status).toBe(200)
    expect(answer).toMatchObject({ status: 0, code: 17_577, display: { code: 0 } })
    expect(answer.message).toContain(text)
  })
})

describe('JSON', () => {
  const post = async (body: string | Uint8Array, headers = JSON_TYPE) =>
    await ask(await listening(), { method: 'POST', headers, body: body as string })

  it('is read as an object of parameters, values and texts', async () => {
    const body = { query: { sid: 1 }, update: '{"a":1}', page: 2 }
    expect((await post(JSON.stringify(body))).body.values).toEqual(body)
    expect((await post(' ')).body.values).toEqual({})
  })

  it.each([
    ['{"query":', 'body is not JSON'],
    ['[1]', 'body must be an object'],
    ['{"query":{"__proto__":{"a":1}}}', 'body.query.__proto__ is a name'],
    ['{"a":{"_bsontype":"ObjectId"}}', 'body.a._bsontype is a name'],
    ['{"update":{"sid":9007199254740993}}', 'body.update.sid is a number beyond 2^53'],
    [`${'['.repeat(50_000)}${']'.repeat(50_000)}`, 'nested deeper than 32'],
    [`{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":1`).join()}}`, 'more than 10000 keys'],
  ])('%.40s is refused', async (body, text) => {
    const answer = await post(body)
    expect(answer).toMatchObject({ status: 200, body: { status: 0, code: 17_577 } })
    expect(answer.body.message).toContain(text)
  })

  it('that is too large, of another type or not UTF-8 is refused', async () => {
    const large = await post(`{"a":"${'x'.repeat(1024 * 1024)}"}`)
    expect(large).toMatchObject({ status: 413, body: { status: 0, code: 413 } })
    const xml = await post('<a/>', { 'content-type': 'text/xml' })
    expect(xml).toMatchObject({ status: 415, body: { code: 415 } })
    const plain = await post('a', { 'content-type': 'text/plain' })
    expect(plain.status).toBe(415)
    expect((await post(new Uint8Array([0x22, 0xff, 0x22]))).status).toBe(400)
  })
})

describe('multipart forms', () => {
  const uploads = { filesMax: 2, fileBytesMax: 100_000 }
  const parts = (fields: readonly (readonly [string, string | File])[]) => {
    const body = new FormData()
    for (const [name, value] of fields) body.append(name, value)
    return { method: 'POST', body }
  }
  const foldersLeft = async () => await readdir(folder)

  it('have fields and files in any order', async () => {
    const url = await listening(uploads)
    const file = new File(['a,b\n1,2\n'], '../../x.csv', { type: 'text/csv' })
    const sent = parts([
      ['files[0]', file],
      ['operation', 'create'],
      ['update', '{"delimiter":","}'],
      ['query[sid]', '1'],
    ])
    const { body } = await ask(`${url}?operation=x&page=1`, sent)
    expect(body).toEqual({
      values: {
        operation: 'create',
        page: '1',
        update: '{"delimiter":","}',
        query: { sid: '1' },
      },
      files: [{ field: 'files[0]', fileName: expect.stringContaining('x.csv'), bytes: 8 }],
      contents: ['a,b\n1,2\n'],
    })
    expect(await foldersLeft()).toEqual([])
  })

  it.each<[string, readonly (readonly [string, string | File])[], number, string]>([
    ['a large file', [['f', new File(['x'.repeat(300_000)], 'f')]], 413, 'more than 100000 bytes'],
    ['many files', [1, 2, 3].map((n) => ['f', new File(['x'], `${n}`)]), 413, 'more than 2 files'],
    ['large fields', [['a', 'x'.repeat(1_100_000)]], 413, 'more than 1048576 bytes'],
    ['fields large together', [1, 2].map(() => ['a', 'x'.repeat(600_000)]), 413, 'bytes'],
    ['many fields', Array.from({ length: 1_001 }, () => ['a', 'x'] as const), 413, 'fields'],
    ['__proto__', [['__proto__', 'x']], 400, 'not allowed'],
  ])('%s are refused', async (_what, fields, status, text) => {
    const answer = await ask(await listening(uploads), parts(fields))
    expect(answer).toMatchObject({ status, body: { status: 0, code: status } })
    expect(answer.body.data.message).toContain(text)
    expect(await foldersLeft()).toEqual([])
  })

  it('with files where none are accepted, or cut off, are refused', async () => {
    const url = await listening()
    const answer = await ask(url, parts([['f', new File(['x'], 'f')]]))
    expect(answer.body.data.message).toContain('accepts no files')
    const headers = { 'content-type': 'multipart/form-data; boundary=B' }
    const cut = '--B\r\ncontent-disposition: form-data; name="a"\r\n\r\nx'
    expect(await ask(url, { method: 'POST', headers, body: cut })).toMatchObject({ status: 400 })
    const noBoundary = { 'content-type': 'multipart/form-data' }
    expect((await ask(url, { method: 'POST', headers: noBoundary, body: cut })).status).toBe(400)
  })

  it('leave no file behind if the client disconnects in the middle of a file', async () => {
    const url = await listening({ filesMax: 1, fileBytesMax: 10_000_000 })
    const headers = { 'content-type': 'multipart/form-data; boundary=B', 'content-length': 9_999 }
    const client = httpRequest(url, { method: 'POST', headers })
    client.on('error', () => undefined)
    const head = 'content-disposition: form-data; name="f"; filename="f"'
    client.write(`--B\r\n${head}\r\n\r\n${'x'.repeat(5_000)}`)
    await expect.poll(foldersLeft).toHaveLength(1)
    client.destroy()
    await expect.poll(foldersLeft).toEqual([])
  })
})
