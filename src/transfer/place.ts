/** A place of files: a folder, an SFTP server or a bucket. */
import { randomUUID } from 'node:crypto'
import { createWriteStream } from 'node:fs'
import { rename } from 'node:fs/promises'
import { posix } from 'node:path'
import { PassThrough, type Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'

export interface PlaceFile {
  /** Relative to the root of the place, as in `in/a.csv`. */
  readonly name: string
  readonly sizeBytes: number
  readonly modifiedMs: number
  /** ETag of S3; absent elsewhere. */
  readonly version?: string
}

/** Whether a file is still the one that was listed, as far as its place tells. */
export function isUnchanged(listed: PlaceFile, now: PlaceFile | null): boolean {
  if (now?.sizeBytes !== listed.sizeBytes || now.modifiedMs !== listed.modifiedMs) return false
  return now.version === listed.version
}

/** Bytes, or a file of this machine that is not changed meanwhile. */
export type PlaceContent = { readonly bytes: Uint8Array } | { readonly path: string }

/**
 * Names are relative to the root, with `/` between folders. Every method rejects with
 * `TransferError`; the caller repeats. Methods may be called at the same time.
 */
export interface TransferPlace {
  /** For people and logs: protocol, host and path, no secret. */
  readonly label: string
  /**
   * The files directly in a folder of the place (empty: its root) in the order of their names,
   * without those whose name begins with a dot. A folder that does not exist has none.
   */
  list(folder: string): Promise<PlaceFile[]>
  /** Null if there is no such file. */
  stat(name: string): Promise<PlaceFile | null>
  /** Where the file is on this machine; null if it must be read from elsewhere. */
  localPath(name: string): string | null
  read(name: string): Promise<Readable>
  /** Replaces a file of that name. Creates the folders of the name. */
  write(name: string, content: PlaceContent): Promise<void>
  /**
   * Moves a file that is unchanged to another name, and replaces one of that name. Creates its
   * folders. On S3 a copy, then a removal. False if there is another content now, which keeps its
   * name.
   */
  move(listed: PlaceFile, to: string): Promise<boolean>
  /** Does nothing if there is no such file. */
  remove(name: string): Promise<void>
  close(): Promise<void>
}

export type TransferFailure =
  /** No connection, or it ended. */
  | 'unreachable'
  /** Credentials, host key or permissions. */
  | 'refused'
  /** No such file, folder or bucket. */
  | 'missing'
  | 'disk full'
  | 'failed'

export class TransferError extends Error {
  override name = 'TransferError'
  readonly kind: TransferFailure

  constructor(kind: TransferFailure, message: string) {
    super(message)
    this.kind = kind
  }
}

/** Refuses names that could lead out of the root. */
export function checkFileName(name: string): void {
  const isSafe = name
    .split('/')
    // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is refused
    .every((part) => part !== '' && part !== '.' && part !== '..' && !/[\x00-\x1f\\]/.test(part))
  if (!isSafe) throw new TransferError('failed', `${JSON.stringify(name)} is not a file name`)
}

/**
 * Where a file is written until it is complete: in the same folder, hidden from `list`. Another one
 * each time, because two processes may write the file at once.
 */
export function temporaryName(name: string): string {
  return posix.join(posix.dirname(name), `.${posix.basename(name)}.${randomUUID()}.part`)
}

/** The folders of a name, the outermost first. */
export function foldersOf(name: string): string[] {
  const parts = name.split('/').slice(0, -1)
  return parts.map((_, at) => parts.slice(0, at + 1).join('/'))
}

export function isHidden(baseName: string): boolean {
  return baseName.startsWith('.')
}

export function byName(left: PlaceFile, right: PlaceFile): number {
  return left.name < right.name ? -1 : 1
}

/** Copies a file to this machine. `path` exists only when it is complete. */
export async function download(place: TransferPlace, name: string, path: string): Promise<void> {
  const temporary = `${path}.part`
  try {
    await pipeline(await place.read(name), createWriteStream(temporary))
    await rename(temporary, path)
  } catch (error) {
    throw localError(error, path)
  }
}

/** The same bytes; an error names the place. */
export function withErrors(source: Readable, errorOf: (error: unknown) => TransferError): Readable {
  const stream = new PassThrough()
  source.on('error', (error) => stream.destroy(errorOf(error)))
  stream.on('close', () => source.destroy())
  return source.pipe(stream)
}

const KINDS: Readonly<Record<string, TransferFailure>> = {
  ENOENT: 'missing',
  ENOTDIR: 'missing',
  EACCES: 'refused',
  EPERM: 'refused',
  EROFS: 'refused',
  ENOSPC: 'disk full',
  EDQUOT: 'disk full',
}

/** An error of the file system of this machine. `what`: the path or place. */
export function localError(error: unknown, what: string): TransferError {
  if (error instanceof TransferError) return error
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error'
  return new TransferError(KINDS[code] ?? 'failed', `${what}: ${code}`)
}
