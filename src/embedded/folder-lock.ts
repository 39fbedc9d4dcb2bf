import { randomBytes } from 'node:crypto'
import { readdir, rename, unlink } from 'node:fs/promises'
import { connect, createServer, type Server } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

const REPLY_MS = 500
const POLL_MS = 5
const POLLS_MAX = 200

/** Another running process, or this one, holds the lock. */
export class FolderInUseError extends Error {
  override readonly name = 'FolderInUseError'
  /** Process id of the owner, if it answered in time. */
  readonly ownerPid: number | undefined

  constructor(path: string, ownerPid: number | undefined) {
    const who = ownerPid === undefined ? 'a running process' : `process ${ownerPid}`
    super(`${path} is locked by ${who}: stop it first, or use another data folder`)
    this.ownerPid = ownerPid
  }
}

export type FolderLock = { readonly path: string; release(): Promise<void> }

/**
 * State of the process behind a lock entry: `gone` if the entry is stale, `closing` if there was no
 * clear answer.
 */
type Holder = {
  readonly state: 'owner' | 'candidate' | 'closing' | 'gone'
  readonly pid: number | undefined
}

/**
 * Acquires the lock `name` in a folder without waiting for its owner.
 *
 * Each candidate first publishes an entry of its own, a listening unix socket, and then checks the
 * entries of the others. Of two candidates, the later one sees the earlier one, so there are never
 * two owners. The kernel closes the socket when its process ends, however it ends. Names are never
 * reused, so removing an entry that does not answer cannot remove a live one.
 * @throws FolderInUseError if the owner is alive
 */
export async function lockFolder(runDir: string, name: string): Promise<FolderLock> {
  const id = randomBytes(4).toString('hex')
  const unpublished = join(runDir, `${name}.${id}`)
  const entry = `${name}.lock.${id}`
  const path = join(runDir, entry)
  const self = { isOwner: false }
  const server = await listen(unpublished, self)
  const release = async () => {
    await unlink(path).catch(unlessAbsent)
    await new Promise<void>((resolve) => server.close(() => resolve()))
  }
  try {
    // Published only when it answers: between bind and listen it would look stale.
    await rename(unpublished, path)
    const holder = await findWinner(runDir, name, entry)
    if (holder !== undefined) throw new FolderInUseError(join(runDir, name), holder.pid)
  } catch (error) {
    await release()
    throw error
  }
  self.isOwner = true
  return { path, release }
}

/** Whether a running process holds the lock or is about to acquire it. */
export async function isLocked(runDir: string, name: string): Promise<boolean> {
  for (const entry of await entriesOf(runDir, name)) {
    if ((await probeEntry(join(runDir, entry))).state !== 'gone') return true
  }
  return false
}

/** Process id of the owner, if it runs and answers in time. */
export async function ownerOf(runDir: string, name: string): Promise<number | undefined> {
  for (const entry of await entriesOf(runDir, name)) {
    const { state, pid } = await probeEntry(join(runDir, entry))
    if (state === 'owner' && pid !== undefined) return pid
  }
  return undefined
}

/**
 * Returns the holder that prevents this process from owning the lock: an owner, or a candidate
 * whose name sorts first. For a candidate that sorts later it waits: that one may become owner or
 * give up.
 */
async function findWinner(runDir: string, name: string, own: string): Promise<Holder | undefined> {
  let last: Holder | undefined
  for (let poll = 0; poll < POLLS_MAX; poll++) {
    last = undefined
    for (const entry of await entriesOf(runDir, name)) {
      if (entry === own) continue
      const holder = await probeEntry(join(runDir, entry))
      if (holder.state === 'owner') return holder
      if (holder.state === 'candidate' && entry < own) return holder
      if (holder.state === 'gone') await unlink(join(runDir, entry)).catch(unlessAbsent)
      else last = holder
    }
    if (last === undefined) return undefined
    await delay(POLL_MS)
  }
  return last
}

async function entriesOf(runDir: string, name: string): Promise<string[]> {
  const entries = await readdir(runDir).catch(unlessAbsent)
  return (entries ?? []).filter((entry) => entry.startsWith(`${name}.lock.`))
}

function listen(path: string, self: { readonly isOwner: boolean }): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer((socket) => {
      // The client may already have disconnected.
      socket.on('error', () => socket.destroy())
      socket.end(`${self.isOwner ? 'owner' : 'candidate'} ${process.pid}`)
    })
    server.once('error', reject)
    // Does not keep the process running.
    server.listen(path, () => resolve(server.unref()))
  })
}

function probeEntry(path: string): Promise<Holder> {
  return new Promise((resolve) => {
    let received = ''
    const socket = connect(path)
    const settle = (state?: Holder['state']) => {
      socket.destroy()
      const [, role, pid] = /^(owner|candidate) (\d+)$/.exec(received) ?? []
      const found = role === 'owner' || role === 'candidate' ? role : 'closing'
      resolve({ state: state ?? found, pid: pid === undefined ? undefined : Number(pid) })
    }
    socket.on('data', (bytes) => {
      received += bytes.toString('latin1')
    })
    socket.once('end', () => settle())
    // A busy process accepts connections without answering: it runs, and may be the owner.
    socket.setTimeout(REPLY_MS, () => settle('owner'))
    socket.once('error', (error: NodeJS.ErrnoException) => {
      const gone = error.code === 'ECONNREFUSED' || error.code === 'ENOENT'
      settle(gone ? 'gone' : undefined)
    })
  })
}

function unlessAbsent(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error
}
