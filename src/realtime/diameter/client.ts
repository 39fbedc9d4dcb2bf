/** A Diameter client with one connection, for `tollgate diameter send`, tests and benchmarks. */
import { connect, type Socket } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { baseAnswer } from '../codecs/diameter-wire/base-answer.ts'
import {
  avp,
  readHeader,
  readMessage,
  textAvp,
  textOf,
  uint32Avp,
  uint32Of,
  type WireAvp,
  type WireMessage,
  writeMessage,
} from '../codecs/diameter-wire/message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  resultCode,
  type WireIdentity,
} from '../codecs/diameter-wire/protocol.ts'
import { addressData } from './capabilities.ts'
import { createFrames } from './frames.ts'
import { createEndToEndIds, createHopByHopIds } from './server-requests.ts'

/** There is no answer, or an invalid one; the message says why. */
export class DiameterClientError extends Error {
  override name = 'DiameterClientError'
}

export interface ClientOptions {
  readonly host: string
  readonly port: number
  readonly identity: WireIdentity
  /** Time-out of the connection, and of each answer. */
  readonly timeoutMs: number
  /** Milliseconds since 1970. */
  readonly nowMs: number
  readonly tls?: ConnectionOptions
  /**
   * Handles requests of the node (RAR, ASR) and returns the Result-Code to answer with; null for no
   * answer. If not given, they are answered with 2002, as by a client that will comply.
   */
  readonly onRequest?: (message: WireMessage) => number | null
  /** Additional AVPs of the CER; they replace default AVPs of the same code. */
  readonly capabilities?: readonly WireAvp[]
}

export interface DiameterClient {
  /** The CEA. */
  readonly capabilities: WireMessage
  /** Sends a request with new identifiers; rejects if there is no answer in time. */
  request(message: WireMessage): Promise<WireMessage>
  /**
   * Sends an encoded message, in which it replaces only the Hop-by-Hop-Id, in place. Returns the
   * raw answer, valid until the next event-loop iteration.
   */
  exchange(request: Buffer): Promise<Buffer>
  /** Sends bytes unchanged. */
  sendRaw(bytes: Buffer): void
  /** Resolves when the connection is closed by either side. */
  readonly closed: Promise<void>
  /** Ends the connection with DPR and DPA. */
  close(): Promise<void>
  /** Closes the connection without DPR. */
  destroy(): void
}

interface PendingAnswer {
  readonly resolve: (answer: Buffer) => void
  readonly reject: (error: Error) => void
  readonly timer: NodeJS.Timeout
}

/** Connects and exchanges capabilities. Throws `DiameterClientError`. */
export async function connectDiameter(options: ClientOptions): Promise<DiameterClient> {
  const { host, port, timeoutMs, nowMs } = options
  const socket = await connected(options)
  const lines = createMessageChannel(socket, options)
  const nextEndToEndId = createEndToEndIds(nowMs)
  const request = async (message: WireMessage) => {
    const bytes = writeMessage({ ...message, endToEndId: nextEndToEndId() })
    return readMessage(Buffer.from(await lines.exchange(bytes)))
  }
  try {
    const cea = await request(capabilitiesRequest(options, socket))
    const code = uint32Of(cea.avps, avpCode.resultCode)
    if (code !== resultCode.success) {
      const why = textOf(cea.avps, avpCode.errorMessage) ?? ''
      throw new DiameterClientError(`${host}:${port} refuses the connection: ${code} ${why}`.trim())
    }
    return {
      ...lines,
      capabilities: cea,
      request,
      async close() {
        await request(disconnectRequest(options)).catch(() => undefined)
        socket.end()
        const cut = setTimeout(() => socket.destroy(), timeoutMs)
        await lines.closed
        clearTimeout(cut)
      },
      destroy: () => socket.destroy(),
    }
  } catch (error) {
    socket.destroy()
    throw error
  }
}

/** Throws for an invalid port or certificate. */
function socketTo({ host, port, tls }: ClientOptions): Socket {
  try {
    if (tls !== undefined) return connectTls({ host, port, ...tls })
    return connect({ host, port, noDelay: true })
  } catch (error) {
    const why = (error as Error).message
    throw new DiameterClientError(`cannot connect to ${host}:${port}: ${why}`, { cause: error })
  }
}

async function connected(options: ClientOptions): Promise<Socket> {
  const { host, port, tls, timeoutMs } = options
  const socket = socketTo(options)
  const event = tls === undefined ? 'connect' : 'secureConnect'
  const endpoint = `${host}:${port}`
  return new Promise((resolve, reject) => {
    const fail = (why: string) => {
      socket.destroy()
      reject(new DiameterClientError(`cannot connect to ${endpoint}: ${why}`))
    }
    const timer = setTimeout(() => fail(`no answer within ${timeoutMs} ms`), timeoutMs)
    socket.once('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      fail(error.code ?? error.message)
    })
    socket.once(event, () => {
      clearTimeout(timer)
      resolve(socket)
    })
  })
}

/** Longer than any message of a node. */
const MESSAGE_BYTES_MAX = 2 ** 24 - 4

/** Sends messages and correlates answers. */
function createMessageChannel(
  socket: Socket,
  options: ClientOptions,
): Pick<DiameterClient, 'exchange' | 'sendRaw' | 'closed'> {
  const { timeoutMs } = options
  const waiting = new Map<number, PendingAnswer>()
  const nextHopByHopId = createHopByHopIds()
  const frames = createFrames(MESSAGE_BYTES_MAX)
  let failure = 'the connection was closed'
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      for (const { reject, timer } of waiting.values()) {
        clearTimeout(timer)
        reject(new DiameterClientError(failure))
      }
      waiting.clear()
      resolve()
    })
  })
  const onMessage = (bytes: Buffer): boolean => {
    const header = readHeader(bytes)
    if ((header.flags & flags.request) !== 0) {
      const answer = answerOf(bytes, options)
      if (answer !== null) socket.write(answer)
      return true
    }
    const found = waiting.get(header.hopByHopId)
    if (found === undefined) return true
    waiting.delete(header.hopByHopId)
    clearTimeout(found.timer)
    found.resolve(bytes)
    return true
  }
  socket.on('error', (error: NodeJS.ErrnoException) => {
    failure = error.code ?? error.message
  })
  socket.on('data', (chunk: Buffer) => {
    const problem = frames.take(chunk, onMessage)
    if (problem === null) return
    failure = problem.why
    socket.destroy()
  })
  return {
    closed,
    sendRaw: (bytes) => void socket.write(bytes),
    exchange: (request) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) return reject(new DiameterClientError(failure))
        const id = nextHopByHopId()
        request.writeUInt32BE(id, 12)
        const timer = setTimeout(() => {
          waiting.delete(id)
          reject(new DiameterClientError(`no answer within ${timeoutMs} ms`))
        }, timeoutMs)
        waiting.set(id, { resolve, reject, timer })
        socket.write(request)
      }),
  }
}

/** Answers DWR, DPR, RAR and ASR. */
function answerOf(bytes: Buffer, { identity, onRequest }: ClientOptions): Buffer | null {
  const { command: requestCommand } = readHeader(bytes)
  const isBase = requestCommand === command.watchdog || requestCommand === command.disconnectPeer
  if (isBase) return baseAnswer(bytes, resultCode.success, identity)
  const code = onRequest === undefined ? resultCode.limitedSuccess : onRequest(readMessage(bytes))
  return code === null ? null : baseAnswer(bytes, code, identity)
}

function capabilitiesRequest(options: ClientOptions, socket: Socket): WireMessage {
  const { capabilities = [] } = options
  const defaults = [
    ...originOf(options),
    avp(avpCode.hostIpAddress, addressData(socket.localAddress ?? '')),
    uint32Avp(avpCode.vendorId, 0),
    textAvp(avpCode.productName, 'Tollgate client'),
    uint32Avp(avpCode.authApplicationId, application.creditControl),
  ]
  const isReplaced = ({ code }: WireAvp) => capabilities.some((one) => one.code === code)
  const avps = [...defaults.filter((one) => !isReplaced(one)), ...capabilities]
  return baseRequest(command.capabilitiesExchange, avps)
}

function disconnectRequest(options: ClientOptions): WireMessage {
  const cause = uint32Avp(avpCode.disconnectCause, 2)
  return baseRequest(command.disconnectPeer, [...originOf(options), cause])
}

function originOf({ identity }: ClientOptions): WireAvp[] {
  return [
    textAvp(avpCode.originHost, identity.originHost),
    textAvp(avpCode.originRealm, identity.originRealm),
  ]
}

function baseRequest(code: number, avps: readonly WireAvp[]): WireMessage {
  const ids = { hopByHopId: 0, endToEndId: 0 }
  return { flags: flags.request, command: code, application: application.base, ...ids, avps }
}
