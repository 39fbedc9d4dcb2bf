/** Files of the operator console and of other pages, as the build has made them. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import {
  ENCODINGS,
  type Encoding,
  type Representations,
  representationOf,
  sendKept,
} from '../encodings.ts'

/**
 * The page runs only scripts of this server, and no text can become markup or code (Trusted
 * Types without a policy). Its frames show PDF files of the API: other answers refuse frames.
 */
export const CONSOLE_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; " +
  "frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; " +
  "require-trusted-types-for 'script'; trusted-types 'none'"

const PAGE = 'index.html'
const PAGE_HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': CONSOLE_POLICY,
  // Without a referrer the browser names no origin of a form, such as the one for a CSV.
  'referrer-policy': 'same-origin',
}
const TYPES: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const ENDINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }
/** Names contain a hash of the content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** Without built files there are no such routes. */
export function addConsole(server: FastifyInstance, folder = builtFolder('console')): void {
  const page = addBuiltFiles(server, '/console/', folder)
  if (page === null) return
  server.get('/', { config: { access: 'public' } }, async (request, reply) =>
    sendKept(request, reply.headers(PAGE_HEADERS), page),
  )
}

/**
 * Serves the built files of a page below `prefix`, to anyone: they contain no data. Returns the
 * page itself; null if it is not built.
 */
export function addBuiltFiles(
  server: FastifyInstance,
  prefix: string,
  folder: string | null,
): Representations | null {
  if (folder === null) return null
  for (const name of readdirSync(folder)) {
    const type = TYPES[extname(name)]
    if (type === undefined) continue
    const representations = representationsOf(`${folder}/${name}`)
    const headers = { 'content-type': type, 'cache-control': IMMUTABLE }
    server.get(`${prefix}${name}`, { config: { access: 'public' } }, async (request, reply) =>
      sendKept(request, reply.headers(headers), representations),
    )
  }
  return representationsOf(`${folder}/${PAGE}`)
}

/** Beside the modules of this part of `admin`, or in `dist` if this is a source file. */
export function builtFolder(part: 'console' | 'openapi'): string | null {
  const places = [`../${part}/built`, `../../../dist/src/admin/${part}/built`]
  const folders = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
  return folders.find((folder) => existsSync(`${folder}/${PAGE}`)) ?? null
}

/** All forms are read at once: the files of a running process may be replaced by another build. */
function representationsOf(path: string): Representations {
  const all = new Map(
    [...ENCODINGS, null].map((encoding) => {
      const ending = encoding === null ? '' : ENDINGS[encoding]
      return [encoding, representationOf(readFileSync(`${path}${ending}`))]
    }),
  )
  return async (encoding) => {
    const found = all.get(encoding)
    if (found === undefined) throw new RangeError('a file is there in every encoding')
    return found
  }
}
