/** The package `diameter`, an independent implementation, as the client of a node. */
import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { Socket } from 'node:net'

/** AVPs in the form of that package: pairs, in which a name may occur more than once. */
export type Pairs = readonly (readonly [name: string, value: PairValue])[]
export type PairValue = string | number | Long | Pairs

interface Long {
  toNumber(): number
}

interface PackageMessage {
  header: { flags: { proxiable: boolean; error: boolean; potentiallyRetransmitted: boolean } }
  body: Pairs
}

interface PackageConnection {
  createRequest(application: string, command: string, sessionId: string): PackageMessage
  sendRequest(request: PackageMessage, timeoutMs: number): Promise<PackageMessage>
}

interface ServerRequest {
  message: { command: string; body: Pairs }
  response: { body: Pairs }
  callback(response: { body: Pairs }): void
}

interface Package {
  createConnection(options: object, connected: () => void): PackageSocket
}

type PackageSocket = Socket & { diameterConnection: PackageConnection }

/** The value of a name that occurs once, or a list of its values. */
export type Named = { readonly [name: string]: unknown }

export interface PackageClient {
  /** Sends a request; resolves with its answer by the names of its AVPs, and the error bit. */
  ask(command: string, sessionId: string, avps: Pairs): Promise<Named & { isError: boolean }>
  /** Requests of the node, in order. */
  readonly asked: readonly (Named & { command: string })[]
  close(): Promise<void>
}

const TIMEOUT_MS = 60_000
const ORIGIN: Pairs = [
  ['Origin-Host', 'gateway.client.example'],
  ['Origin-Realm', 'client.example'],
]

/** Connects, and exchanges capabilities. */
export async function connectPackage(port: number): Promise<PackageClient> {
  const load = createRequire(import.meta.url)
  const { createConnection } = load('diameter') as Package
  const socket = createConnection({ host: '127.0.0.1', port }, () => undefined)
  await once(socket, 'connect')
  const problems: unknown[] = []
  socket.on('error', (error) => problems.push(error))
  const asked: (Named & { command: string })[] = []
  socket.on('diameterMessage', ({ message, response, callback }: ServerRequest) => {
    asked.push({ ...namedOf(message.body), command: message.command })
    const result: Pairs = [['Result-Code', 'DIAMETER_SUCCESS'], ...ORIGIN]
    callback({ ...response, body: [...response.body, ...result] })
  })
  const client: PackageClient = {
    asked,
    async ask(command, sessionId, avps) {
      const application = applicationOf(command)
      const { diameterConnection } = socket
      const request = diameterConnection.createRequest(application, command, sessionId)
      request.header.flags.proxiable = command === 'Credit-Control'
      request.body = [...request.body, ...ORIGIN, ...avps]
      const { header, body } = await diameterConnection
        .sendRequest(request, TIMEOUT_MS)
        .catch((error: unknown) => Promise.reject(problems[0] ?? error))
      return { ...namedOf(body), isError: header.flags.error }
    },
    async close() {
      const closed = once(socket, 'close')
      socket.destroy()
      await closed
    },
  }
  await client.ask('Capabilities-Exchange', 'none', [
    ['Host-IP-Address', '127.0.0.1'],
    ['Vendor-Id', 10415],
    ['Product-Name', 'node-diameter'],
    ['Auth-Application-Id', 'Diameter Credit Control'],
  ])
  return client
}

function applicationOf(command: string): string {
  return command === 'Credit-Control'
    ? 'Diameter Credit Control Application'
    : 'Diameter Common Messages'
}

function namedOf(pairs: Pairs): Named {
  const named: Record<string, unknown> = {}
  for (const [name, value] of pairs) {
    const earlier = named[name]
    const one = valueIn(value)
    if (earlier === undefined) named[name] = one
    else named[name] = Array.isArray(earlier) ? [...earlier, one] : [earlier, one]
  }
  return named
}

function valueIn(value: PairValue): unknown {
  if (isPairs(value)) return namedOf(value)
  return typeof value === 'object' ? value.toNumber() : value
}

function isPairs(value: PairValue): value is Pairs {
  return Array.isArray(value)
}
