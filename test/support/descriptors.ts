import { readdirSync, readFileSync, readlinkSync } from 'node:fs'

/**
 * Open descriptors of a process (Linux), each as its link in /proc, without its connections
 * to others: a driver's connection pool may grow under load, which is not a leak.
 *
 * @param port of the server whose connections are included
 */
export function heldDescriptors(pid: number, port: number): string[] {
  const outgoing = outgoingSockets(port)
  const held: string[] = []
  for (const name of readdirSync(`/proc/${pid}/fd`)) {
    const link = linkOf(`/proc/${pid}/fd/${name}`)
    if (link !== null && !outgoing.has(link)) held.push(link)
  }
  return held
}

/** A socket that was reset but not closed is in neither table, so it counts as held. */
function outgoingSockets(port: number): Set<string> {
  const sockets = new Set<string>()
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    for (const line of readFileSync(table, 'utf8').split('\n').slice(1)) {
      const fields = line.trim().split(/\s+/)
      const local = fields[1]
      if (local === undefined || fields[3] === LISTEN) continue
      if (Number.parseInt(local.slice(local.lastIndexOf(':') + 1), 16) === port) continue
      sockets.add(`socket:[${fields[9]}]`)
    }
  }
  // Stores of tests may listen on Unix sockets.
  for (const line of readFileSync('/proc/net/unix', 'utf8').split('\n').slice(1)) {
    sockets.add(`socket:[${line.trim().split(/\s+/)[6]}]`)
  }
  return sockets
}

/** The state LISTEN of a socket. */
const LISTEN = '0A'

/** Null if the descriptor was closed meanwhile. */
function linkOf(path: string): string | null {
  try {
    return readlinkSync(path)
  } catch {
    return null
  }
}
