/** Content encodings of answers, as clients accept them. */
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'
import type { FastifyReply, FastifyRequest } from 'fastify'

/** The most wanted first. */
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

/** Sends a text of JSON, compressed if the client accepts that. */
export async function sendJson(
  request: FastifyRequest,
  reply: FastifyReply,
  json: string,
): Promise<FastifyReply> {
  const encoding = chooseEncoding(request, reply)
  const sent = encoding === null ? json : await COMPRESS[encoding](json)
  if (encoding !== null) reply.header('content-encoding', encoding)
  return reply.type('application/json; charset=utf-8').send(sent)
}
