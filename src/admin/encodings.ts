/** Content encodings of answers, as clients accept them. */
import { createHash } from 'node:crypto'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** In order of preference. */
export const ENCODINGS = ['br', 'gzip'] as const
export type Encoding = (typeof ENCODINGS)[number]

/**
 * The encoding that the client prefers, null for none (RFC 9110, 12.5.3): a weight of 0 refuses
 * one, and equal weights leave the choice to us. Caches learn that answers differ by it.
 */
export function chooseEncoding(
  { headers }: Pick<FastifyRequest, 'headers'>,
  reply: FastifyReply,
): Encoding | null {
  // All answers differ by origin, these by their encoding too.
  reply.header('vary', 'Origin, Accept-Encoding')
  const weights = weightsIn(headers['accept-encoding'])
  let chosen: Encoding | null = null
  let highest = weights.get('identity') ?? 0
  for (const name of ENCODINGS) {
    const weight = weights.get(name) ?? weights.get('*') ?? 0
    const isBetter = chosen === null ? weight >= highest : weight > highest
    if (weight === 0 || !isBetter) continue
    chosen = name
    highest = weight
  }
  return chosen
}

/** By encoding in lower case; an invalid weight is 0. */
function weightsIn(header: string | string[] = ''): ReadonlyMap<string, number> {
  const weights = new Map<string, number>()
  for (const part of String(header).toLowerCase().split(',')) {
    const [name = '', ...parameters] = part.split(';').map((each) => each.trim())
    const weight = parameters.find((each) => each.startsWith('q='))?.slice(2) ?? '1'
    weights.set(name, Number(weight) || 0)
  }
  return weights
}

/** Higher levels of Brotli take several times as long for the last few percent. */
const BROTLI = { params: { [constants.BROTLI_PARAM_QUALITY]: 5 } }
const [brotli, gzipped] = [promisify(brotliCompress), promisify(gzip)]
/** In the thread pool. */
const COMPRESS: Readonly<Record<Encoding, (text: string) => Promise<Buffer>>> = {
  br: (text) => brotli(text, BROTLI),
  gzip: (text) => gzipped(text),
}

/** One form of an answer that is kept in memory. */
export interface Representation {
  readonly bytes: Buffer
  readonly etag: string
}

/** By encoding; null for the answer as it is. */
export type Representations = (encoding: Encoding | null) => Promise<Representation>

export function representationOf(bytes: Buffer): Representation {
  const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 16)
  return { bytes, etag: `"${digest}"` }
}

/** Each form is made when it is first asked for, and kept. */
export function compressed(text: string): Representations {
  const made = new Map<Encoding | null, Promise<Representation>>()
  const make = async (encoding: Encoding | null) =>
    representationOf(encoding === null ? Buffer.from(text) : await COMPRESS[encoding](text))
  return (encoding) => {
    const found = made.get(encoding) ?? make(encoding)
    made.set(encoding, found)
    return found
  }
}

/** Sends what is kept, unless the client has it already: 304. */
export async function sendKept(
  request: FastifyRequest,
  reply: FastifyReply,
  representations: Representations,
): Promise<FastifyReply> {
  const encoding = chooseEncoding(request, reply)
  const { bytes, etag } = await representations(encoding)
  reply.header('etag', etag)
  const known = request.headers['if-none-match']?.split(',').map((each) => each.trim()) ?? []
  const isKnown = known.some((each) => each === '*' || each.replace(/^W\//, '') === etag)
  if (isKnown) return reply.code(304).send()
  if (encoding !== null) reply.header('content-encoding', encoding)
  return reply.send(bytes)
}

/** Sends a text of JSON, compressed if the client accepts that. */
export async function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  json: string,
): Promise<FastifyReply> {
  const encoding = chooseEncoding(request, reply)
  const body = encoding === null ? json : await COMPRESS[encoding](json)
  if (encoding !== null) reply.header('content-encoding', encoding)
  return reply.type('application/json; charset=utf-8').send(body)
}
