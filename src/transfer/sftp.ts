/** A folder of an SFTP server. One connection, opened when it is needed. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import type { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client, FileEntryWithStats, SFTPWrapper, Stats } from 'ssh2'
import { FILE_MODE } from '../runtime/file-modes.ts'
import {
  byName,
  checkFileName,
  foldersOf,
  isHidden,
  isUnchanged,
  localError,
  type PlaceContent,
  type PlaceFile,
  TransferError,
  type TransferFailure,
  type TransferPlace,
  temporaryName,
  withErrors,
} from './place.ts'

export interface SftpOptions {
  readonly host: string
  readonly port: number
  readonly user: string
  /** Absolute, or relative to the folder that the server begins with. */
  readonly root: string
  /** SHA-256 of the public key as OpenSSH writes it: `SHA256:` and base64. */
  readonly hostKey: string
  /** A private key (PEM or OpenSSH) if it begins like one, otherwise a password. */
  readonly secret: string
  /** Limits the log-in, and how long a server may be silent. */
  readonly timeoutMs: number
}

/** Status codes of the protocol (draft-ietf-secsh-filexfer-02). */
const NO_SUCH_FILE = 2
const PERMISSION_DENIED = 3
const OP_UNSUPPORTED = 8
/** Unanswered messages after which the connection is closed. */
const KEEP_ALIVES = 2

interface Connection {
  readonly client: Client
  readonly sftp: SFTPWrapper
}

export class SftpPlace implements TransferPlace {
  readonly label: string
  readonly #options: SftpOptions
  #connection: Promise<Connection> | null = null

  constructor(options: SftpOptions) {
    this.#options = options
    const { host, port, root } = options
    const authority = host.includes(':') ? `[${host}]` : host
    this.label = `sftp://${authority}:${port}${root.startsWith('/') ? '' : '/~/'}${root}`
  }

  localPath(): null {
    return null
  }

  list(folder: string): Promise<PlaceFile[]> {
    return this.#attempt(folder, async (sftp) => {
      const path = folder === '' ? this.#options.root : this.#pathOf(folder)
      const entries = await called<FileEntryWithStats[]>((end) =>
        sftp.readdir(path === '' ? '.' : path, end),
      ).catch((error) => {
        if (folder !== '' && codeOf(error) === NO_SUCH_FILE) return []
        throw error
      })
      return entries
        .filter(({ filename, attrs }) => attrs.isFile() && !isHidden(filename))
        .map(({ filename, attrs }) =>
          fileOf(folder === '' ? filename : `${folder}/${filename}`, attrs),
        )
        .sort(byName)
    })
  }

  stat(name: string): Promise<PlaceFile | null> {
    return this.#attempt(name, (sftp) => this.#find(sftp, name))
  }

  async #find(sftp: SFTPWrapper, name: string): Promise<PlaceFile | null> {
    try {
      const found = await called<Stats>((end) => sftp.stat(this.#pathOf(name), end))
      return found.isFile() ? fileOf(name, found) : null
    } catch (error) {
      if (codeOf(error) === NO_SUCH_FILE) return null
      throw error
    }
  }

  read(name: string): Promise<Readable> {
    const failed = (error: unknown) => this.#errorOf(error, name)
    return this.#attempt(name, async (sftp) => {
      const stream = sftp.createReadStream(this.#pathOf(name))
      await new Promise<void>((resolve, reject) => {
        stream.once('open', () => resolve())
        stream.once('error', reject)
      })
      return withErrors(stream, failed)
    })
  }

  write(name: string, content: PlaceContent): Promise<void> {
    return this.#attempt(name, async (sftp) => {
      await this.#createFolders(sftp, name)
      const temporary = this.#pathOf(temporaryName(name))
      const source = 'path' in content ? createReadStream(content.path) : [content.bytes]
      try {
        await pipeline(source, sftp.createWriteStream(temporary, { mode: FILE_MODE }))
        await replace(sftp, temporary, this.#pathOf(name))
      } catch (error) {
        await called<void>((end) => sftp.unlink(temporary, end)).catch(() => undefined)
        throw error
      }
    })
  }

  move(listed: PlaceFile, to: string): Promise<boolean> {
    const { name } = listed
    return this.#attempt(name, async (sftp) => {
      if (!isUnchanged(listed, await this.#find(sftp, name))) return false
      await this.#createFolders(sftp, to)
      const [from, target] = [this.#pathOf(name), this.#pathOf(to)]
      await replace(sftp, from, target)
      if (isUnchanged(listed, await this.#find(sftp, to))) return true
      // Put back; a newer one that has come meanwhile stays.
      await called<void>((end) => sftp.rename(target, from, end)).catch(async (error) => {
        if ((await this.#find(sftp, name)) === null) throw error
        await called<void>((end) => sftp.unlink(target, end))
      })
      return false
    })
  }

  remove(name: string): Promise<void> {
    return this.#attempt(name, async (sftp) => {
      try {
        await called<void>((end) => sftp.unlink(this.#pathOf(name), end))
      } catch (error) {
        if (codeOf(error) !== NO_SUCH_FILE) throw error
      }
    })
  }

  async close(): Promise<void> {
    const opened = await this.#connection?.catch(() => null)
    this.#connection = null
    opened?.client.end()
  }

  #pathOf(name: string): string {
    checkFileName(name)
    const { root } = this.#options
    if (root === '') return name
    return root.endsWith('/') ? `${root}${name}` : `${root}/${name}`
  }

  async #createFolders(sftp: SFTPWrapper, name: string): Promise<void> {
    for (const folder of foldersOf(name)) {
      const path = this.#pathOf(folder)
      const exists = await called<Stats>((end) => sftp.stat(path, end)).catch((error) => {
        if (codeOf(error) === NO_SUCH_FILE) return null
        throw error
      })
      if (exists === null) await called<void>((end) => sftp.mkdir(path, end))
    }
  }

  async #attempt<T>(name: string, act: (sftp: SFTPWrapper) => Promise<T>): Promise<T> {
    try {
      const { sftp } = await this.#connect()
      return await act(sftp)
    } catch (error) {
      throw this.#errorOf(error, name)
    }
  }

  async #connect(): Promise<Connection> {
    if (this.#connection !== null) return this.#connection
    const opening = this.#open(() => {
      if (this.#connection === opening) this.#connection = null
    })
    this.#connection = opening
    return opening
  }

  async #open(onClose: () => void): Promise<Connection> {
    // Loaded when it is needed: most installations have no such place.
    const { default: ssh2 } = await import('ssh2')
    const { host, port, user, secret, timeoutMs } = this.#options
    const client = new ssh2.Client()
    const end = () => {
      onClose()
      client.destroy()
    }
    let otherKey = ''
    const ready = new Promise<void>((resolve, reject) => {
      client.once('ready', resolve)
      client.on('error', reject)
      client.once('close', () => reject(new Error('the connection was closed')))
      // Throws for a private key that cannot be read.
      client.connect({
        ...{ host, port, username: user, readyTimeout: timeoutMs },
        ...(secret.startsWith('-----BEGIN ') ? { privateKey: secret } : { password: secret }),
        keepaliveInterval: Math.ceil(timeoutMs / KEEP_ALIVES),
        keepaliveCountMax: KEEP_ALIVES,
        hostVerifier: (key: Buffer) => {
          const found = fingerprintOf(key)
          if (found !== this.#options.hostKey) otherKey = found
          return otherKey === ''
        },
      })
    })
    try {
      await ready
      // Each file is several requests, and each of them waits for its answer.
      client.setNoDelay(true)
      client.once('close', onClose)
      const sftp = await called<SFTPWrapper>((end) => client.sftp(end))
      // A server may end the channel, or answer keep-alives and no request.
      sftp.once('end', end)
      sftp.once('close', end)
      limitRequests(sftp, timeoutMs, end)
      return { client, sftp }
    } catch (error) {
      end()
      if (otherKey === '') throw error
      throw new TransferError('refused', `${this.label}: the host key is ${otherKey}`)
    }
  }

  #errorOf(error: unknown, name: string): TransferError {
    if (error instanceof TransferError) return error
    if (error instanceof Error && 'path' in error) return localError(error, String(error.path))
    const where = name === '' ? this.label : `${this.label}: ${name}`
    const reason = error instanceof Error ? error.message : 'unknown error'
    return new TransferError(kindOf(error), `${where}: ${reason}`)
  }
}

/** As `ssh-keygen -l` shows it. */
function fingerprintOf(key: Buffer): string {
  const digest = createHash('sha256').update(key).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}

function kindOf(error: unknown): TransferFailure {
  const code = codeOf(error)
  if (code === NO_SUCH_FILE) return 'missing'
  if (code === PERMISSION_DENIED) return 'refused'
  if (typeof code === 'number') return 'failed'
  if (!(error instanceof Error)) return 'unreachable'
  const level = 'level' in error ? error.level : ''
  const isWrongKey = error.message.includes('privateKey')
  return level === 'client-authentication' || isWrongKey ? 'refused' : 'unreachable'
}

/** The status of the protocol; a text if the error is one of the socket. */
function codeOf(error: unknown): unknown {
  return error instanceof Error && 'code' in error ? error.code : undefined
}

function fileOf(name: string, { size, mtime }: Pick<Stats, 'size' | 'mtime'>): PlaceFile {
  return { name, sizeBytes: size, modifiedMs: mtime * 1000 }
}

type Callback<T> = (error: Error | null | undefined, result: T) => void

function called<T>(act: (end: Callback<T>) => unknown): Promise<T> {
  return new Promise((resolve, reject) => {
    act((error, result) => (error ? reject(error) : resolve(result)))
  })
}

/** One request each, also those of streams. */
const REQUESTS = [
  ...['open', 'close', 'read', 'write', 'fchmod', 'stat', 'opendir', 'readdir', 'mkdir'],
  ...['unlink', 'rename', 'ext_openssh_rename'],
]

type Request = (...given: unknown[]) => unknown

/** Requests fail that are not answered in time, and those on a channel that was closed. */
function limitRequests(sftp: SFTPWrapper, timeoutMs: number, onSilence: () => void): void {
  const methods = sftp as unknown as Record<string, Request>
  const open = new Set<Request>()
  let isClosed = false
  const closed = () => {
    isClosed = true
    for (const answered of open) answered(new Error('the connection was closed'))
  }
  sftp.once('end', closed)
  sftp.once('close', closed)
  for (const name of REQUESTS) {
    const request = methods[name] as Request
    methods[name] = (...given) => {
      const end = given.at(-1) as Request
      // The list of a path consists of several requests.
      if (name === 'readdir' && typeof given[0] === 'string') return request.apply(sftp, given)
      let timer: NodeJS.Timeout | undefined
      const answered: Request = (...answer) => {
        if (!open.delete(answered)) return
        clearTimeout(timer)
        end(...answer)
      }
      open.add(answered)
      // As when a stream closes its file after the connection has ended.
      if (isClosed) return queueMicrotask(closed)
      request.apply(sftp, [...given.slice(0, -1), answered])
      if (!open.has(answered)) return undefined
      timer = setTimeout(() => {
        answered(new Error('the server does not answer'))
        onSilence()
      }, timeoutMs)
      return undefined
    }
  }
}

/** The rename of the protocol does not replace a file; that of OpenSSH does, at once. */
async function replace(sftp: SFTPWrapper, from: string, to: string): Promise<void> {
  try {
    await called<void>((end) => sftp.ext_openssh_rename(from, to, end))
    return
  } catch (error) {
    const isUnknown = error instanceof Error && /does not support/.test(error.message)
    if (!isUnknown && codeOf(error) !== OP_UNSUPPORTED) throw error
  }
  await called<Stats>((end) => sftp.stat(from, end))
  await called<void>((end) => sftp.unlink(to, end)).catch((error) => {
    if (codeOf(error) !== NO_SUCH_FILE) throw error
  })
  await called<void>((end) => sftp.rename(from, to, end))
}
