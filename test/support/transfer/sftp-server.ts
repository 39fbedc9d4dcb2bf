/** A real SFTP server over a folder of this machine: ssh2 speaks SSH, this file opens files. */
import { createHash, generateKeyPairSync } from 'node:crypto'
import {
  type FileHandle,
  lstat,
  mkdir,
  open,
  readdir,
  rename,
  stat,
  unlink,
} from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import ssh2, { type Connection, type FileEntry, type ParsedKey, type SFTPWrapper } from 'ssh2'

const { OPEN_MODE, STATUS_CODE } = ssh2.utils.sftp

export interface SftpServer {
  readonly port: number
  readonly hostKey: string
  /** Log-ins that were accepted: `password` or `publickey`. */
  readonly logins: string[]
  /** Ends the connections; the next one is accepted. */
  dropConnections(): void
  /** Ends the channels; the connections stay. */
  dropChannels(): void
  /** Ends the connection within the next file that is written. */
  cutNext(): void
  /** Answers no request from now on; the connections stay. */
  silence(): void
  /** Does something before the next rename. */
  beforeRename(act: () => void): void
  close(): Promise<void>
}

export interface SftpServerOptions {
  readonly folder: string
  readonly user: string
  readonly password: string
  /** The public key that may log in, as OpenSSH writes it. */
  readonly publicKey?: string
}

interface ServerState {
  isSilent: boolean
  isCut: boolean
  drop(): void
  /** Called once, before the next rename. */
  onRename(): void
}

export async function startSftpServer(options: SftpServerOptions): Promise<SftpServer> {
  const { privateKey: hostKey } = sshKeys()
  const connections = new Set<Connection>()
  const channels = new Set<SFTPWrapper>()
  const logins: string[] = []
  const dropConnections = () => {
    state.isCut = false
    for (const client of connections) client.end()
  }
  const state: ServerState = {
    isSilent: false,
    isCut: false,
    drop: dropConnections,
    onRename: () => undefined,
  }
  const server = new ssh2.Server({ hostKeys: [hostKey] }, (client) => {
    connections.add(client)
    // Its types lack it.
    Reflect.apply(Reflect.get(client, 'setNoDelay'), client, [true])
    client.on('error', () => undefined)
    client.on('close', () => connections.delete(client))
    client.on('authentication', (context) => {
      if (context.username !== options.user) return context.reject()
      const isAllowed =
        context.method === 'password'
          ? context.password === options.password
          : context.method === 'publickey' && isSigned(context, options.publicKey)
      if (!isAllowed) return context.reject(['password', 'publickey'])
      logins.push(context.method)
      context.accept()
    })
    client.on('session', (accept) => {
      accept().on('sftp', (acceptSftp) => {
        const sftp = acceptSftp()
        channels.add(sftp)
        sftp.on('close', () => channels.delete(sftp))
        serve(sftp, options.folder, state)
      })
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    hostKey: fingerprint(ssh2.utils.parseKey(hostKey) as ParsedKey),
    logins,
    dropConnections,
    dropChannels() {
      for (const sftp of channels) sftp.end()
    },
    cutNext() {
      state.isCut = true
    },
    silence() {
      state.isSilent = true
    },
    beforeRename(act) {
      state.onRename = act
    },
    close() {
      dropConnections()
      return new Promise((resolve) => server.close(() => resolve()))
    },
  }
}

/** Those that ssh2 generates are malformed once in a while. */
export function sshKeys(): { privateKey: string; publicKey: string } {
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: 'P-256',
    privateKeyEncoding: { type: 'sec1', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })
  const key = ssh2.utils.parseKey(privateKey) as ParsedKey
  return { privateKey, publicKey: `${key.type} ${key.getPublicSSH().toString('base64')}` }
}

function isSigned(context: ssh2.PublicKeyAuthContext, publicKey = ''): boolean {
  const allowed = ssh2.utils.parseKey(publicKey)
  if (allowed instanceof Error || !allowed.getPublicSSH().equals(context.key.data)) return false
  // Without a signature the client asks whether the key would do.
  if (context.signature === undefined || context.blob === undefined) return true
  return allowed.verify(context.blob, context.signature, context.hashAlgo) === true
}

function fingerprint(key: ParsedKey): string {
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64')
  return `SHA256:${digest.replace(/=+$/, '')}`
}

interface OpenFolder {
  readonly path: string
  isRead: boolean
}

function serve(sftp: SFTPWrapper, root: string, state: ServerState): void {
  const handles = new Map<number, FileHandle | OpenFolder>()
  let next = 0
  const opened = (id: number, handle: FileHandle | OpenFolder) => {
    next += 1
    handles.set(next, handle)
    const bytes = Buffer.alloc(4)
    bytes.writeUInt32BE(next)
    sftp.handle(id, bytes)
  }
  const of = (handle: Buffer) => handles.get(handle.readUInt32BE())
  const pathOf = (path: string) => join(root, join('/', path))
  const answer = (id: number, act: () => Promise<unknown>) => {
    if (!state.isSilent) act().catch((error) => sftp.status(id, statusOf(error)))
  }
  const done = (id: number, act: () => Promise<unknown>) => {
    answer(id, async () => {
      await act()
      sftp.status(id, STATUS_CODE.OK)
    })
  }
  const attributes = (id: number, path: string) =>
    answer(id, async () => sftp.attrs(id, attributesOf(await stat(pathOf(path)))))
  sftp.on('OPEN', (id, path, flags) => {
    const mode = (flags & OPEN_MODE.WRITE) === 0 ? 'r' : 'w'
    answer(id, async () => opened(id, await open(pathOf(path), mode)))
  })
  sftp.on('READ', (id, handle, offset, length) =>
    answer(id, async () => {
      const buffer = Buffer.alloc(length)
      const { bytesRead } = await (of(handle) as FileHandle).read(buffer, 0, length, offset)
      if (bytesRead === 0) sftp.status(id, STATUS_CODE.EOF)
      else sftp.data(id, buffer.subarray(0, bytesRead))
    }),
  )
  sftp.on('WRITE', (id, handle, offset, data) => {
    if (state.isCut) return state.drop()
    done(id, () => (of(handle) as FileHandle).write(data, 0, data.length, offset))
  })
  sftp.on('FSTAT', (id, handle) =>
    answer(id, async () => sftp.attrs(id, attributesOf(await (of(handle) as FileHandle).stat()))),
  )
  sftp.on('FSETSTAT', (id, handle, { mode }) =>
    done(id, async () => mode !== undefined && (of(handle) as FileHandle).chmod(mode)),
  )
  sftp.on('CLOSE', (id, handle) =>
    done(id, async () => {
      const file = of(handle)
      handles.delete(handle.readUInt32BE())
      if (file !== undefined && 'close' in file) await file.close()
    }),
  )
  sftp.on('OPENDIR', (id, path) =>
    answer(id, async () => {
      await readdir(pathOf(path))
      opened(id, { path: pathOf(path), isRead: false })
    }),
  )
  sftp.on('READDIR', (id, handle) =>
    answer(id, async () => {
      const folder = of(handle) as OpenFolder
      if (folder.isRead) return sftp.status(id, STATUS_CODE.EOF)
      folder.isRead = true
      sftp.name(id, await entriesOf(folder.path))
    }),
  )
  sftp.on('STAT', attributes)
  sftp.on('LSTAT', attributes)
  serveNames(sftp, pathOf, done, state)
}

function serveNames(
  sftp: SFTPWrapper,
  pathOf: (path: string) => string,
  done: (id: number, act: () => Promise<unknown>) => void,
  state: ServerState,
): void {
  sftp.on('MKDIR', (id, path) => done(id, () => mkdir(pathOf(path))))
  sftp.on('REMOVE', (id, path) => done(id, () => unlink(pathOf(path))))
  sftp.on('RENAME', (id, from, to) =>
    done(id, async () => {
      state.onRename()
      state.onRename = () => undefined
      // The rename of the protocol refuses to replace a file.
      if (await stat(pathOf(to)).catch(() => null)) throw new Error('exists')
      await rename(pathOf(from), pathOf(to))
    }),
  )
}

async function entriesOf(folder: string): Promise<FileEntry[]> {
  const names = await readdir(folder)
  return Promise.all(
    names.map(async (filename) => {
      const attrs = attributesOf(await lstat(join(folder, filename)))
      return { filename, longname: filename, attrs }
    }),
  )
}

function attributesOf({
  mode,
  uid,
  gid,
  size,
  atimeMs,
  mtimeMs,
}: Awaited<ReturnType<typeof stat>>) {
  const seconds = (ms: number | bigint) => Math.floor(Number(ms) / 1000)
  return {
    ...{ mode: Number(mode), uid: Number(uid), gid: Number(gid), size: Number(size) },
    ...{ atime: seconds(atimeMs), mtime: seconds(mtimeMs) },
  }
}

function statusOf(error: NodeJS.ErrnoException): number {
  if (error.code === 'ENOENT') return STATUS_CODE.NO_SUCH_FILE
  return error.code === 'EACCES' ? STATUS_CODE.PERMISSION_DENIED : STATUS_CODE.FAILURE
}
