/** Files of the operator console, as the build has made them, from memory. */
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
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
}
const ENDINGS: Readonly<Record<Encoding, string>> = { br: '.br', gzip: '.gz' }
/** Names contain a hash of the content. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

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
      sendKept(request, reply.headers(headers), representations),
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
