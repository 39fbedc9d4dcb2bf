/** A bucket of storage compatible with S3, or the part of it whose keys have a prefix. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import type { Readable } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import { SaxesParser } from 'saxes'
import type { Dispatcher } from 'undici'
import {
  byName,
  checkFileName,
  isHidden,
  isUnchanged,
  localError,
  type PlaceContent,
  type PlaceFile,
  TransferError,
  type TransferFailure,
  type TransferPlace,
  withErrors,
} from './place.ts'

export interface S3Options {
  readonly bucket: string
  /** Empty, or ending in a slash. */
  readonly prefix: string
  /** As in `https://s3.eu-central-1.amazonaws.com`. */
  readonly endpoint: string
  readonly region: string
  /** Whether the bucket is in the path of URLs instead of the host name. */
  readonly pathStyle: boolean
  readonly accessKeyId: string
  readonly secret: string
  /** Limits the connection, and how long the storage may be silent. */
  readonly timeoutMs: number
}

interface S3Request {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'DELETE'
  /** Empty for the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Readable | Uint8Array
}

/** Limit of an answer that is not a file; a page of keys has up to 1 MB. */
const ANSWER_BYTES_MAX = 8 * 1024 * 1024
const PRECONDITION_FAILED = 412
const NOT_IMPLEMENTED = 501
const NO_BODY_SHA256 = createHash('sha256').digest('hex')

export class S3Place implements TransferPlace {
  readonly label: string
  readonly #options: S3Options
  #dispatcher: Promise<Dispatcher> | null = null

  constructor(options: S3Options) {
    this.#options = options
    this.label = `s3://${options.bucket}/${options.prefix}`
  }

  localPath(): null {
    return null
  }

  list(folder: string): Promise<PlaceFile[]> {
    return this.#attempt(folder, async () => {
      const prefix = folder === '' ? this.#options.prefix : `${this.#keyOf(folder)}/`
      const files: PlaceFile[] = []
      let token = ''
      do {
        const query = {
          ...{ 'list-type': '2', prefix, delimiter: '/', 'encoding-type': 'url' },
          ...(token !== '' && { 'continuation-token': token }),
        }
        const page = pageOf(await this.#text({ method: 'GET', query }))
        for (const { key, ...file } of page.objects) {
          const base = key.slice(prefix.length)
          if (base === '' || isHidden(base)) continue
          files.push({ name: folder === '' ? base : `${folder}/${base}`, ...file })
        }
        if (page.nextToken !== '' && page.nextToken === token) {
          throw new TransferError('failed', 'the list repeats a page')
        }
        token = page.nextToken
      } while (token !== '')
      return files.sort(byName)
    })
  }

  stat(name: string): Promise<PlaceFile | null> {
    return this.#attempt(name, async () => {
      const { statusCode, headers, body } = await this.#send({
        method: 'HEAD',
        key: this.#keyOf(name),
      })
      await body.dump()
      if (statusCode === 404) return null
      if (statusCode !== 200) throw statusError(statusCode, '')
      return {
        name,
        sizeBytes: Number(headers['content-length']),
        modifiedMs: timeOf(String(headers['last-modified'])),
        ...versionOf(headers['etag']),
      }
    })
  }

  read(name: string): Promise<Readable> {
    return this.#attempt(name, async () => {
      const answer = await this.#send({ method: 'GET', key: this.#keyOf(name) })
      if (answer.statusCode !== 200) throw await errorOf(answer)
      return withErrors(answer.body, (error) => this.#errorOf(error, name))
    })
  }

  write(name: string, content: PlaceContent): Promise<void> {
    return this.#attempt(name, async () => {
      const key = this.#keyOf(name)
      const { size, sha256 } = await digestOf(content)
      const headers = { 'content-length': String(size), 'x-amz-content-sha256': sha256 }
      const body = 'path' in content ? createReadStream(content.path) : content.bytes
      await this.#text({ method: 'PUT', key, headers, body })
    })
  }

  move(listed: PlaceFile, to: string): Promise<boolean> {
    const { name, version } = listed
    return this.#attempt(name, async () => {
      if (!isUnchanged(listed, await this.stat(name))) return false
      const key = this.#keyOf(name)
      const headers = {
        'x-amz-copy-source': `/${this.#options.bucket}/${encodedKey(key)}`,
        ...(version !== undefined && { 'x-amz-copy-source-if-match': version }),
      }
      const copied = await this.#send({ method: 'PUT', key: this.#keyOf(to), headers })
      if (copied.statusCode === PRECONDITION_FAILED) {
        await copied.body.dump()
        return false
      }
      const answer = await textIn(copied)
      // The status is sent before the copy is made.
      if (!answer.includes('<CopyObjectResult')) throw statusError(200, answer)
      await this.#removeUnchanged(listed)
      return true
    })
  }

  /** A content that has come since the copy stays. Not all storage knows conditional removals. */
  async #removeUnchanged(listed: PlaceFile): Promise<void> {
    const { name, version } = listed
    if (!isUnchanged(listed, await this.stat(name))) return
    const key = this.#keyOf(name)
    if (version !== undefined) {
      const removed = await this.#send({ method: 'DELETE', key, headers: { 'if-match': version } })
      if (removed.statusCode !== NOT_IMPLEMENTED) {
        if (removed.statusCode === PRECONDITION_FAILED) await removed.body.dump()
        else await textIn(removed)
        return
      }
      await removed.body.dump()
    }
    await this.#text({ method: 'DELETE', key })
  }

  remove(name: string): Promise<void> {
    return this.#attempt(name, async () => {
      await this.#text({ method: 'DELETE', key: this.#keyOf(name) })
    })
  }

  async close(): Promise<void> {
    const opened = await this.#dispatcher
    this.#dispatcher = null
    await opened?.close()
  }

  #keyOf(name: string): string {
    checkFileName(name)
    return `${this.#options.prefix}${name}`
  }

  async #text(request: S3Request): Promise<string> {
    return textIn(await this.#send(request))
  }

  async #send(request: S3Request): Promise<Dispatcher.ResponseData> {
    const { method, key = '', query = {}, body } = request
    const { endpoint, bucket, region, pathStyle, accessKeyId, secret } = this.#options
    const url = new URL(endpoint)
    if (!pathStyle) url.hostname = `${bucket}.${url.hostname}`
    url.pathname = `${pathStyle ? `/${bucket}` : ''}/${encodedKey(key)}`
    url.search = Object.entries(query)
      .map(([name, value]) => `${name}=${encoded(value)}`)
      .join('&')
    const headers = { 'x-amz-content-sha256': NO_BODY_SHA256, ...request.headers }
    const signer = new AwsV4Signer({
      ...{ method, url: url.href, headers, region, service: 's3' },
      ...{ accessKeyId, secretAccessKey: secret },
    })
    const signed = await signer.sign()
    const { undici, dispatcher } = await this.#load()
    return undici.request(signed.url, {
      method,
      dispatcher,
      headers: Object.fromEntries(signed.headers as unknown as Iterable<[string, string]>),
      body: body ?? null,
    })
  }

  async #load() {
    // Loaded when it is needed: most installations have no such place.
    const undici = await import('undici')
    const { timeoutMs } = this.#options
    this.#dispatcher ??= Promise.resolve(
      new undici.Agent({
        connect: { timeout: timeoutMs },
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
      }),
    )
    return { undici, dispatcher: await this.#dispatcher }
  }

  async #attempt<T>(name: string, act: () => Promise<T>): Promise<T> {
    try {
      return await act()
    } catch (error) {
      throw this.#errorOf(error, name)
    }
  }

  #errorOf(error: unknown, name: string): TransferError {
    if (error instanceof Error && 'path' in error) return localError(error, String(error.path))
    const { kind, reason } = failureOf(error)
    return new TransferError(kind, `${this.label}${name}: ${reason}`)
  }
}

/** Each octet except `A-Z a-z 0-9 - . _ ~` (Signature Version 4). */
function encoded(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (letter) => `%${letter.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}

function encodedKey(key: string): string {
  return key.split('/').map(encoded).join('/')
}

async function digestOf(content: PlaceContent): Promise<{ size: number; sha256: string }> {
  const hash = createHash('sha256')
  if ('bytes' in content) {
    return { size: content.bytes.length, sha256: hash.update(content.bytes).digest('hex') }
  }
  const { size } = await stat(content.path)
  for await (const bytes of createReadStream(content.path)) hash.update(bytes)
  return { size, sha256: hash.digest('hex') }
}

async function textOf({ body }: Dispatcher.ResponseData): Promise<string> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length
    if (bytes > ANSWER_BYTES_MAX) throw new TransferError('failed', 'the answer is too long')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks).toString()
}

/** Throws for an error. */
async function textIn(answer: Dispatcher.ResponseData): Promise<string> {
  if (answer.statusCode >= 300) throw await errorOf(answer)
  return textOf(answer)
}

async function errorOf(answer: Dispatcher.ResponseData): Promise<TransferError> {
  return statusError(answer.statusCode, await textOf(answer))
}

/** `body`: the error of S3, whose code says more than the status. */
function statusError(status: number, body: string): TransferError {
  const [, code = ''] = /<Code>(\w{1,100})<\/Code>/.exec(body) ?? []
  return new TransferError(kindOf(status), `status ${status}${code === '' ? '' : ` ${code}`}`)
}

function kindOf(status: number): TransferFailure {
  if (status === 401 || status === 403) return 'refused'
  if (status === 404) return 'missing'
  if (status === 507) return 'disk full'
  return status >= 500 ? 'unreachable' : 'failed'
}

function failureOf(error: unknown): { kind: TransferFailure; reason: string } {
  if (error instanceof TransferError) return { kind: error.kind, reason: error.message }
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'no answer'
  return { kind: 'unreachable', reason: code }
}

/** In whole seconds: lists may have milliseconds (MinIO), and HTTP has none. */
function timeOf(text: string): number {
  return Math.floor(Date.parse(text) / 1000) * 1000
}

function versionOf(etag: string | string[] | undefined): Pick<PlaceFile, 'version'> {
  return typeof etag === 'string' && etag !== '' ? { version: etag } : {}
}

interface S3Page {
  readonly objects: readonly (Omit<PlaceFile, 'name'> & { key: string })[]
  /** Empty after the last page. */
  readonly nextToken: string
}

/** A page of ListObjectsV2. */
function pageOf(xml: string): S3Page {
  const objects: (Omit<PlaceFile, 'name'> & { key: string })[] = []
  let nextToken = ''
  // Asked for, because XML has no control characters; not all storage does it.
  let isEncoded = false
  let fields: Record<string, string> = {}
  let text = ''
  const parser = new SaxesParser()
  parser.on('opentag', ({ name }) => {
    text = ''
    if (name === 'Contents') fields = {}
  })
  parser.on('text', (part) => {
    text += part
  })
  parser.on('closetag', ({ name }) => {
    fields[name] = text
    if (name === 'NextContinuationToken') nextToken = text
    if (name === 'EncodingType') isEncoded = text === 'url'
    if (name !== 'Contents') return
    const { Key: key = '', Size: size, LastModified: modified = '', ETag: etag } = fields
    const times = { sizeBytes: Number(size), modifiedMs: timeOf(modified) }
    objects.push({ key, ...times, ...versionOf(etag) })
  })
  parser.on('error', () => {
    throw new TransferError('failed', 'the answer is not a ListObjectsV2 result')
  })
  parser.write(xml).close()
  if (!isEncoded) return { objects, nextToken }
  const decoded = (key: string) => decodeURIComponent(key.replaceAll('+', ' '))
  return { objects: objects.map((one) => ({ ...one, key: decoded(one.key) })), nextToken }
}
