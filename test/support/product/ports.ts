/** Ports for programs that cannot listen on port 0 and report what they got. */
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'

/**
 * Below the ports that systems give to those that ask for any (Linux: from 32,768), so that nobody
 * gets one by chance between its choice and its use, or during a restart. The port 10,000 above it,
 * which is the bus of a node of a Redis Cluster, is below them too.
 */
const FIRST = 10_000
const END = 22_000

/** A port on which nobody listens. */
export async function choosePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (await canListen(port)) return port
  }
}

async function canListen(port: number): Promise<boolean> {
  const server = createServer()
  try {
    server.listen(port, '127.0.0.1')
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}
