/** A proxy between a client and its store that simulates outages of the network. */
import { connect, createServer, type Server, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'

export interface StoreProxy {
  url: string
  /** Refuses and ends connections. */
  cut(): Promise<void>
  /** Reads what is sent and answers nothing. */
  hang(): void
  /** Bytes that were read and not forwarded. */
  taken(): number
  /** Cuts before the first request, as a chunk of bytes, for which this is true. */
  cutBefore(isLast: (request: Buffer) => boolean): void
  /** Forwards answers of the store with this delay, in milliseconds. */
  slow(delayMs: number): void
  restore(): Promise<void>
  close(): Promise<void>
}

/** A proxy for the first host of a URL: mongodb://, redis:// or unix:///path (of a Redis). */
export async function startStoreProxy(storeUrl: string): Promise<StoreProxy> {
  const store = addressOf(storeUrl)
  const sockets = new Set<Socket>()
  let isHanging = false
  let takenBytes = 0
  let delayMs = 0
  let isLast: (request: Buffer) => boolean = () => false
  const join = (from: Socket, to: Socket, isAnswer: boolean) => {
    // In order, also where the delay changes between two chunks.
    let earlier = Promise.resolve()
    const hand = async (bytes: Buffer, waitMs: number, before: Promise<void>) => {
      await Promise.all([before, pause(waitMs)])
      to.write(bytes)
    }
    sockets.add(from)
    from.on('data', (bytes: Buffer) => {
      if (isHanging) {
        takenBytes += bytes.length
        return
      }
      if (!isAnswer && isLast(bytes)) {
        void stop()
        return
      }
      earlier = hand(bytes, isAnswer ? delayMs : 0, earlier)
    })
    from.on('error', () => to.destroy())
    from.on('close', () => {
      sockets.delete(from)
      to.destroy()
    })
  }
  const server = createServer((client) => {
    const upstream = connect(store)
    join(client, upstream, false)
    join(upstream, client, true)
  })
  const listen = (port: number) => listenOn(server, port)
  const stop = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      for (const socket of sockets) socket.destroy()
    })
  const port = await listen(0)
  return {
    url: proxiedUrl(storeUrl, port),
    cut: stop,
    hang: () => {
      isHanging = true
    },
    taken: () => takenBytes,
    cutBefore: (found) => {
      isLast = found
    },
    slow: (ms) => {
      delayMs = ms
    },
    async restore() {
      isHanging = false
      delayMs = 0
      if (!server.listening) await listenAgain(server, port)
    },
    close: async () => {
      if (server.listening) await stop()
    },
  }
}

const MONGO = /^mongodb:\/\/(?:[^@/]*@)?([^/?,]+)/

function addressOf(url: string): { path: string } | { host: string; port: number } {
  if (url.startsWith('unix:')) return { path: decodeURIComponent(new URL(url).pathname) }
  const mongoHost = MONGO.exec(url)?.[1]
  const address = decodeURIComponent(mongoHost ?? new URL(url).host)
  if (address.startsWith('/')) return { path: address }
  const [host = '', port = mongoHost === undefined ? '6379' : '27017'] = address.split(':')
  return { host, port: Number(port) }
}

/** The same URL with the host of the proxy. */
function proxiedUrl(url: string, port: number): string {
  const address = `127.0.0.1:${port}`
  const mongoHost = MONGO.exec(url)?.[1]
  if (mongoHost === undefined) return `redis://${address}`
  const hasPath = url.replace(/^[^/]*\/\//, '').includes('/')
  const proxied = url.replace(mongoHost, address)
  if (url.includes('directConnection=')) return proxied
  const query = url.includes('?') ? '&' : hasPath ? '?' : '/?'
  return `${proxied}${query}directConnection=true`
}

function listenOn(server: Server, port: number): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject)
      resolve((server.address() as { port: number }).port)
    })
  })
}

/** While the proxy did not listen, another process may have used its port for a moment. */
async function listenAgain(server: Server, port: number, attemptsLeft = 200): Promise<void> {
  try {
    await listenOn(server, port)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE' || attemptsLeft === 0) throw error
    await pause(50)
    await listenAgain(server, port, attemptsLeft - 1)
  }
}
