/**
 * A server with the part of S3 that places use, over memory. It computes Signature Version 4 by
 * itself, from the request as it arrived (AWS Signature Version 4 for API requests).
 */
import { createHash, createHmac } from 'node:crypto'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface S3Server {
  readonly endpoint: string
  /** By bucket and key, as in `bucket/a/b.csv`. */
  readonly objects: Map<string, Buffer>
  /** Answers the next request with this status and code of S3; `method`: the next one of it. */
  failNext(status: number, code: string, method?: string): void
  /** Does something before the next request with this method. */
  beforeNext(method: string, act: () => void): void
  /** Ends the connection within the body of the next answer that has one. */
  cutNext(): void
  close(): Promise<void>
}

export interface S3ServerOptions {
  readonly accessKeyId: string
  readonly secret: string
  readonly region: string
  /** Keys of a page of a list. */
  readonly pageSize: number
}

interface S3Answer {
  readonly status: number
  readonly body?: Buffer | string
  readonly headers?: Readonly<Record<string, string>>
}

/** Lists of MinIO have milliseconds, `Last-Modified` has not. */
const MODIFIED = new Date('2026-01-02T03:04:05.678Z')

export async function startS3Server(options: S3ServerOptions): Promise<S3Server> {
  const objects = new Map<string, Buffer>()
  let failure: (S3Answer & { method: string }) | null = null
  let before: { method: string; act: () => void } | null = null
  let isCut = false
  const server = createServer(async (request, response) => {
    const body = await bodyOf(request)
    if (before?.method === request.method) {
      before?.act()
      before = null
    }
    const problem = signatureProblem(request, body, options)
    const isFailing = failure !== null && ['', request.method].includes(failure.method)
    const answer =
      problem === null
        ? ((isFailing ? failure : null) ?? answerTo(request, body, objects, options.pageSize))
        : { status: 403, body: errorText(problem) }
    if (isFailing) failure = null
    response.writeHead(answer.status, answer.headers)
    if (isCut && answer.body !== undefined) {
      isCut = false
      response.write(answer.body.slice(0, 1), () => response.destroy())
    } else response.end(answer.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    objects,
    failNext(status, code, method = '') {
      failure = { status, body: errorText(code), method }
    },
    beforeNext(method, act) {
      before = { method, act }
    },
    cutNext() {
      isCut = true
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks)
}

const sha256 = (data: Buffer | string) => createHash('sha256').update(data).digest('hex')
const hmac = (key: Buffer | string, text: string) => createHmac('sha256', key).update(text).digest()

/** The code of the error of S3; null if the request is signed correctly. */
function signatureProblem(
  { method = '', url = '', headers }: IncomingMessage,
  body: Buffer,
  { accessKeyId, secret, region }: S3ServerOptions,
): string | null {
  const form = /^AWS4-HMAC-SHA256 Credential=(.*), SignedHeaders=(.*), Signature=(.*)$/
  const [, credential = '', signed = '', signature] = form.exec(headers.authorization ?? '') ?? []
  const [id, date = '', ...scope] = credential.split('/')
  if (id !== accessKeyId) return 'InvalidAccessKeyId'
  const time = String(headers['x-amz-date'])
  if (scope.join('/') !== `${region}/s3/aws4_request` || !time.startsWith(date)) {
    return 'AuthorizationHeaderMalformed'
  }
  const required = ['host', ...Object.keys(headers).filter((name) => name.startsWith('x-amz-'))]
  if (!required.every((name) => signed.split(';').includes(name))) return 'AccessDenied'
  if (headers['x-amz-content-sha256'] !== sha256(body)) return 'XAmzContentSHA256Mismatch'
  const [path = '', search = ''] = url.split('?')
  const canonical = [
    method,
    path.split('/').map(reencoded).join('/'),
    search.split('&').map(queryPart).sort().join('&'),
    ...signed.split(';').map((name) => `${name}:${String(headers[name]).trim()}`),
    '',
    signed,
    sha256(body),
  ].join('\n')
  const text = ['AWS4-HMAC-SHA256', time, [date, ...scope].join('/'), sha256(canonical)].join('\n')
  const key = [date, ...scope].reduce<Buffer | string>(
    (previous, part) => hmac(previous, part),
    `AWS4${secret}`,
  )
  return hmac(key, text).toString('hex') === signature ? null : 'SignatureDoesNotMatch'
}

function reencoded(text: string): string {
  return [...Buffer.from(decodeURIComponent(text))]
    .map((byte) => {
      const letter = String.fromCharCode(byte)
      if (/[A-Za-z0-9\-._~]/.test(letter)) return letter
      return `%${byte.toString(16).toUpperCase().padStart(2, '0')}`
    })
    .join('')
}

function queryPart(part: string): string {
  if (part === '') return ''
  const [name = '', value = ''] = part.split('=')
  return `${reencoded(name)}=${reencoded(value)}`
}

function answerTo(
  { method, url = '', headers }: IncomingMessage,
  body: Buffer,
  objects: Map<string, Buffer>,
  pageSize: number,
): S3Answer {
  const parsed = new URL(url, 'http://server')
  const key = decodeURIComponent(parsed.pathname.slice(1))
  const [bucket = '', ...rest] = key.split('/')
  if (bucket !== 'bucket') return { status: 404, body: errorText('NoSuchBucket') }
  if (rest.join('/') === '') return listOf(parsed.searchParams, objects, pageSize)
  const found = objects.get(key)
  if (method === 'DELETE') {
    const expected = headers['if-match']
    if (found !== undefined && expected !== undefined && expected !== etagOf(found)) {
      return { status: 412, body: errorText('PreconditionFailed') }
    }
    objects.delete(key)
    return { status: 204 }
  }
  if (method === 'PUT') {
    if (headers['content-length'] === undefined) {
      return { status: 411, body: errorText('MissingContentLength') }
    }
    const source = headers['x-amz-copy-source']
    if (source === undefined) {
      objects.set(key, body)
      return { status: 200 }
    }
    const copied = objects.get(decodeURIComponent(String(source).slice(1)))
    if (copied === undefined) return { status: 404, body: errorText('NoSuchKey') }
    if (headers['x-amz-copy-source-if-match'] !== etagOf(copied)) {
      return { status: 412, body: errorText('PreconditionFailed') }
    }
    objects.set(key, copied)
    return { status: 200, body: '<CopyObjectResult></CopyObjectResult>' }
  }
  if (found === undefined) return { status: 404, body: errorText('NoSuchKey') }
  return {
    status: 200,
    headers: {
      'content-length': String(found.length),
      'last-modified': MODIFIED.toUTCString(),
      etag: etagOf(found),
    },
    ...(method === 'GET' && { body: found }),
  }
}

function listOf(query: URLSearchParams, objects: Map<string, Buffer>, pageSize: number): S3Answer {
  const prefix = query.get('prefix') ?? ''
  const isEncoded = query.get('encoding-type') === 'url'
  const start = Number(query.get('continuation-token') ?? 0)
  const keys = [...objects.keys()]
    .map((key) => key.slice('bucket/'.length))
    .filter((key) => key.startsWith(prefix) && !key.slice(prefix.length).includes('/'))
    .sort()
  const end = start + pageSize
  const contents = keys.slice(start, end).map((key) => {
    const object = objects.get(`bucket/${key}`) ?? Buffer.alloc(0)
    const name = isEncoded ? encodeURIComponent(key).replaceAll('%20', '+') : xml(key)
    return (
      `<Contents><Key>${name}</Key><LastModified>${MODIFIED.toISOString()}</LastModified>` +
      `<ETag>&quot;${etagOf(object).slice(1, -1)}&quot;</ETag>` +
      `<Size>${object.length}</Size><Owner><ID>1</ID></Owner></Contents>`
    )
  })
  const more = end < keys.length ? `<NextContinuationToken>${end}</NextContinuationToken>` : ''
  const encoding = isEncoded ? '<EncodingType>url</EncodingType>' : ''
  const body = `<ListBucketResult>${contents.join('')}${more}${encoding}</ListBucketResult>`
  return { status: 200, body }
}

function etagOf(object: Buffer): string {
  return `"${createHash('md5').update(object).digest('hex')}"`
}

function xml(text: string): string {
  return text.replace(/[&<>]/g, (letter) => `&#${letter.charCodeAt(0)};`)
}

function errorText(code: string): string {
  return `<?xml version="1.0"?><Error><Code>${code}</Code></Error>`
}
