/**
 * Reads multipart bodies: fields, and files, which are stored in a folder that is removed after the
 * request.
 */
import { createWriteStream } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { FastifyRequest } from 'fastify'
import { ApiError, RequestError } from '../../requests/errors.ts'
import type { FormParameters } from '../../requests/form-names.ts'
import { BODY_BYTES_MAX, SMALL_BODY_BYTES_MAX } from '../../requests/json-limits.ts'
import { truncatedName } from '../../requests/problems.ts'

const FIELDS_MAX = 1_000
const FIELD_NAME_BYTES_MAX = 1_024

export interface UploadLimits {
  readonly filesMax: number
  /** Limit on each file. */
  readonly fileBytesMax: number
  /** Limit on all fields together, if it differs from that of other bodies. */
  readonly fieldsBytesMax?: number
}

export const NO_FILES: UploadLimits = { filesMax: 0, fileBytesMax: 0 }

export interface UploadedFile {
  /** Name of the form field: `files[0]`. */
  readonly field: string
  /** Name that the client sent; never used as a path. */
  readonly fileName: string
  /** Media type of the part; empty if it was not sent. */
  readonly contentType: string
  /** Location of the content until `dispose`. */
  readonly path: string
  readonly bytes: number
}

export interface ReadParts {
  readonly files: readonly UploadedFile[]
  dispose(): Promise<void>
}

/**
 * Reads all parts; fields are added to `form`. Rejects as `readParameters` does; no file remains in
 * that case.
 */
export async function readParts(
  request: FastifyRequest,
  form: FormParameters,
  uploads: UploadLimits,
): Promise<ReadParts> {
  const files: UploadedFile[] = []
  let folder: string | null = null
  const dispose = async () => {
    if (folder !== null) await rm(folder, { recursive: true, force: true })
  }
  const fieldsBytesMax = fieldsLimitOf(request, uploads)
  let bytesLeft = fieldsBytesMax
  try {
    for await (const part of request.parts(optionsOf(uploads, fieldsBytesMax))) {
      if (part.type === 'file') {
        if (files.length >= uploads.filesMax) throw filesRefused(uploads)
        folder ??= await mkdtemp(join(tmpdir(), 'tollgate-upload-'))
        const path = join(folder, String(files.length))
        const bytes = await store(part.file, path, uploads.fileBytesMax, part.fieldname)
        const contentType = part.mimetype ?? ''
        const fileName = part.filename ?? ''
        files.push({ field: part.fieldname, fileName, contentType, path, bytes })
        continue
      }
      const value = typeof part.value === 'string' ? part.value : JSON.stringify(part.value)
      bytesLeft -= Buffer.byteLength(value) + Buffer.byteLength(part.fieldname)
      if (bytesLeft < 0 || part.valueTruncated || part.fieldnameTruncated) {
        const most = `${fieldsBytesMax} bytes`
        throw new RequestError(413, `the fields of the body have more than ${most}`)
      }
      form.add(part.fieldname, value)
    }
  } catch (error) {
    await dispose()
    throw multipartErrorOf(error)
  }
  return { files, dispose }
}

/** Fields are parsed at once, so those of unidentified callers are limited like other bodies. */
function fieldsLimitOf(
  { isUnidentified, caller }: FastifyRequest,
  { fieldsBytesMax = BODY_BYTES_MAX }: UploadLimits,
): number {
  const isKnown = !isUnidentified || caller !== null
  return isKnown ? fieldsBytesMax : Math.min(fieldsBytesMax, SMALL_BODY_BYTES_MAX)
}

function optionsOf({ filesMax }: UploadLimits, fieldsBytesMax: number) {
  return {
    limits: {
      fieldNameSize: FIELD_NAME_BYTES_MAX,
      fieldSize: fieldsBytesMax,
      fields: FIELDS_MAX,
      // One more than allowed, so that this module detects the excess file and names it in the
      // error.
      files: filesMax + 1,
      // The bytes are counted while they are stored, which stops reading immediately.
      fileSize: Number.POSITIVE_INFINITY,
      parts: FIELDS_MAX + filesMax + 1,
    },
  }
}

function filesRefused({ filesMax }: UploadLimits): RequestError {
  if (filesMax === 0) return new RequestError(400, 'this action accepts no files')
  return new RequestError(413, `there are more than ${filesMax} files`)
}

async function store(
  file: Readable,
  path: string,
  bytesMax: number,
  field: string,
): Promise<number> {
  let bytes = 0
  await pipeline(
    file,
    async function* bounded(source: AsyncIterable<Buffer>) {
      for await (const chunk of source) {
        bytes += chunk.length
        if (bytes > bytesMax) {
          throw new RequestError(413, `${truncatedName(field)} has more than ${bytesMax} bytes`)
        }
        yield chunk
      }
    },
    createWriteStream(path, { mode: 0o600 }),
  )
  return bytes
}

/** Maps errors of the parser by code; system errors, such as a full disk, are not client errors. */
function multipartErrorOf(error: unknown): unknown {
  if (error instanceof ApiError || !(error instanceof Error) || 'syscall' in error) return error
  const code = 'code' in error ? String(error.code) : ''
  if (/^FST_(?:PARTS|FIELDS|FILES)_LIMIT$/.test(code)) {
    return new RequestError(413, `the body has more than ${FIELDS_MAX} fields`)
  }
  if (code === 'FST_PROTO_VIOLATION') {
    return new RequestError(400, 'a field has a name that is not allowed')
  }
  if (code === 'FST_INVALID_JSON_FIELD_ERROR') {
    return new RequestError(400, 'a field that is sent as JSON is not JSON')
  }
  return new RequestError(400, `the parts of the body cannot be read: ${error.message}`)
}
