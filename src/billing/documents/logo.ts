/** The logo of the operator: a file in the template folder. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inflateSync } from 'node:zlib'
import { TemplateError } from './errors.ts'

/** Media types of files that a page may contain, by extension. */
export const MEDIA_TYPES: ReadonlyMap<string, string> = new Map([
  ['png', 'image/png'],
  ['jpg', 'image/jpeg'],
  ['jpeg', 'image/jpeg'],
  ['svg', 'image/svg+xml'],
  ['gif', 'image/gif'],
  ['webp', 'image/webp'],
  ['woff2', 'font/woff2'],
  ['ttf', 'font/ttf'],
])

/** In the order of preference: formats that HTML and PDF can show. */
const NAMES = ['logo.png', 'logo.jpg'] as const

export interface Logo {
  readonly name: string
  readonly path: string
  readonly bytes: Buffer
}

/** Null if the folder has none, or there is no folder. Throws `TemplateError`. */
export async function logoOf(folder: string): Promise<Logo | null> {
  if (folder === '') return null
  for (const name of NAMES) {
    const path = join(folder, name)
    try {
      return { name, path, bytes: await readFile(path) }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue
      throw new TemplateError(`${path} cannot be read: ${(error as Error).message}`, 'refused')
    }
  }
  return null
}

const SIGNATURE = Buffer.from('\x89PNG\r\n\x1a\n', 'latin1')
const PICTURE_BYTES_MAX = 64 * 1024 * 1024
/** Samples per pixel by colour type. */
const SAMPLES = new Map([
  [0, 1],
  [2, 3],
  [3, 1],
  [4, 2],
  [6, 4],
])
const FILTER_MAX = 4

/**
 * Throws for a PNG whose pixels cannot be decoded: pdfkit does so later, where an error would end
 * the process. Other formats are not checked.
 */
export function checkPng(bytes: Buffer): void {
  if (!bytes.subarray(0, SIGNATURE.length).equals(SIGNATURE)) return
  const { header, data } = chunksOf(bytes)
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)]
  const [bits, samples] = [header.readUInt8(8), SAMPLES.get(header.readUInt8(9)) ?? 0]
  if (header.readUInt8(12) !== 0) throw new Error('interlaced pictures are not supported')
  const stride = Math.ceil((width * bits * samples) / 8) + 1
  const size = stride * height
  if (size === 0 || size > PICTURE_BYTES_MAX) throw new Error('the picture is too large')
  const pixels = inflateSync(data, { maxOutputLength: size + 1 })
  if (pixels.length !== size) throw new Error('the picture is not complete')
  for (let at = 0; at < size; at += stride) {
    if (pixels.readUInt8(at) > FILTER_MAX) throw new Error('the picture is damaged')
  }
}

function chunksOf(bytes: Buffer): { readonly header: Buffer; readonly data: Buffer } {
  const data: Buffer[] = []
  let header: Buffer | undefined
  let at = SIGNATURE.length
  while (at + 8 <= bytes.length) {
    const length = bytes.readUInt32BE(at)
    const name = bytes.toString('latin1', at + 4, at + 8)
    const content = bytes.subarray(at + 8, at + 8 + length)
    if (name === 'IHDR') header = content
    if (name === 'IDAT') data.push(content)
    at += length + 12
  }
  if (header === undefined || header.length !== 13) throw new Error('the picture has no header')
  return { header, data: Buffer.concat(data) }
}
