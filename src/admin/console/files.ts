/** Files of the operator console, as the build has made them, from memory. */
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { chooseEncoding, ENCODINGS, type Encoding } from '../encodings.ts'

/**
 * The page runs only scripts of this server, and no text can become markup or code (Trusted
 * Types without a policy). Its frames show PDF files of the API: other answers refuse frames.
 */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'"

const PAGE = 'index.html'
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const ENDINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }
/** Names contain a hash of the content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

interface Representation {
  /** Null for the file as it is. */
  readonly encoding: Encoding | null
  readonly bytes: Buffer
  readonly etag: string
}

/**
 * Serves the page at `/` and its files below `/console/`, to anyone: they contain no data. Without
 * built files there are no such routes.
 */
export function addConsole(server: FastifyInstance, folder = builtFolder()): void {
  if (folder === null) return
  const names = readdirSync(folder).filter((name) => TYPES[extname(name)] !== undefined)
  for (const name of names) {
    const representations = representationsOf(`${folder}/${name}`)
    const headers = headersOf(name)
    const url = name === PAGE ? '/' : `/console/${name}`
    server.get(url, { config: { access: 'public' } }, async (request, reply) =>
      answer(request, reply.headers(headers), representations),
    )
  }
}

/** Next to this module, or in `dist` if this is a source file. */
function builtFolder(): string | null {
  const places = ['./built', '../../../dist/src/admin/console/built']
  const folders = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
  return folders.find((folder) => existsSync(`${folder}/${PAGE}`)) ?? null
}

function headersOf(name: string): Record<string, string> {
  const type = TYPES[extname(name)] ?? ''
  if (name !== PAGE) return { 'content-type': type, 'cache-control': IMMUTABLE }
  return {
    'content-type': type,
    'content-security-policy': CONSOLE_POLICY,
    // Without a referrer the browser names no origin of a form, such as the one for a CSV.
    'referrer-policy': 'same-origin',
  }
}

function representationsOf(path: string): readonly Representation[] {
  return [...ENCODINGS, null].map((encoding) => {
    const ending = encoding === null ? '' : ENDINGS[encoding]
    const bytes = readFileSync(`${path}${ending}`)
    const digest = createHash('sha256').update(bytes).digest('base64url').slice(0, 16)
    return { encoding, bytes, etag: `"${digest}"` }
  })
}

function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  representations: readonly Representation[],
): FastifyReply {
  const wanted = chooseEncoding(request, reply)
  const chosen = representations.find(({ encoding }) => encoding === wanted)
  if (chosen === undefined) throw new RangeError('a file is there in every encoding')
  const { encoding, bytes, etag } = chosen
  reply.header('etag', etag)
  if (encoding !== null) reply.header('content-encoding', encoding)
  const known = request.headers['if-none-match']?.split(',').map((each) => each.trim()) ?? []
  const isKnown = known.some((each) => each === '*' || each.replace(/^W\//, '') === etag)
  return isKnown ? reply.code(304).removeHeader('content-encoding').send() : reply.send(bytes)
}
