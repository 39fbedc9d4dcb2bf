/** One Diameter connection of a test as a peer of its own: every byte comes from `message.ts`. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import {
  readMessage,
  textOf,
  uint32Of,
  type WireAvp,
  type WireMessage,
  writeMessage,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import {
  application,
  avpCode,
  command,
  flags,
  isProtocolError,
} from '../../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { type NamedAvps, namedAvps, wireAvps } from '../../../../src/realtime/diameter/named.ts'
import { waitUntil } from '../../wait.ts'

/** AVPs of the answer to a request of the other side; null if it is not answered. */
export type Respond = (request: WireMessage) => NamedAvps | null

export interface Message extends WireMessage {
  named: NamedAvps
  bytes: Buffer
}

export interface Ask {
  application?: number
  /** In addition to the flag of a request; by default proxiable. */
  flags?: number
  endToEndId?: number
  /** Appended unchanged. */
  avps?: readonly WireAvp[]
}

export interface Link {
  /** Received messages, in order. */
  readonly received: readonly Message[]
  readonly isClosed: boolean
  /** Sends a request; resolves with its answer. Rejects when the connection ends without one. */
  ask(commandCode: number, avps: NamedAvps, more?: Ask): Promise<Message>
  /** Waits for the n-th request or answer of a command. */
  receives(commandCode: number, kind: 'request' | 'answer', count?: number): Promise<Message>
  close(): Promise<void>
}

const ANSWER_TIMEOUT_MS = 60_000

/** Calls `take` with each complete message received. */
export function onMessages(socket: Socket, take: (message: Message) => void): void {
  let rest: Buffer = Buffer.alloc(0)
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 4 && rest.length >= rest.readUIntBE(1, 3)) {
      const length = rest.readUIntBE(1, 3)
      take(messageOf(rest.subarray(0, length)))
      rest = rest.subarray(length)
    }
  })
}

/** The messages of a socket in both directions; requests are answered by `respond`. */
export function linkOn(socket: Socket, respond: Respond): Link {
  const received: Message[] = []
  const waiting = new Map<number, (answer: Message | Error) => void>()
  let isClosed = false
  let nextId = 1

  onMessages(socket, (message) => {
    received.push(message)
    if ((message.flags & flags.request) === 0) {
      waiting.get(message.hopByHopId)?.(message)
      return
    }
    const avps = respond(message)
    if (avps !== null) socket.write(answerTo(message, avps))
  })
  // Waiting requests are rejected when the socket closes.
  socket.on('error', () => undefined)
  socket.on('close', () => {
    isClosed = true
    for (const answer of waiting.values()) answer(new Error('closed without an answer'))
  })
  return {
    received,
    get isClosed() {
      return isClosed
    },
    async ask(commandCode, avps, more = {}) {
      const hopByHopId = nextId++
      const request = requestBytes(commandCode, hopByHopId, avps, more)
      const answer = new Promise<Message | Error>((resolve) => waiting.set(hopByHopId, resolve))
      const late = setTimeout(
        () => waiting.get(hopByHopId)?.(new Error(`no answer to command ${commandCode}`)),
        ANSWER_TIMEOUT_MS,
      )
      if (isClosed) waiting.get(hopByHopId)?.(new Error('the connection is closed'))
      else socket.write(request)
      const result = await answer
      clearTimeout(late)
      waiting.delete(hopByHopId)
      if (result instanceof Error) throw result
      return result
    },
    receives: (commandCode, kind, count) => arrived(received, commandCode, kind, count),
    async close() {
      if (isClosed) return
      const closed = once(socket, 'close')
      socket.destroy()
      await closed
    },
  }
}

/** Waits until a list has `count` requests or answers of a command; returns the last of them. */
export async function arrived(
  messages: readonly Message[],
  commandCode: number,
  kind: 'request' | 'answer',
  count = 1,
): Promise<Message> {
  const all = () => messages.filter((one) => isOf(one, commandCode, kind))
  await waitUntil(`${kind} ${count} of command ${commandCode}`, () => all().length >= count)
  return all()[count - 1] as Message
}

function isOf(message: Message, commandCode: number, kind: 'request' | 'answer'): boolean {
  const isRequest = (message.flags & flags.request) !== 0
  return message.command === commandCode && isRequest === (kind === 'request')
}

function messageOf(bytes: Buffer): Message {
  const message = readMessage(bytes)
  return { ...message, named: namedAvps(message.avps), bytes }
}

/** The bytes of a request; its end-to-end identifier is the hop-by-hop identifier by default. */
export function requestBytes(
  commandCode: number,
  id: number,
  named: NamedAvps,
  more: Ask = {},
): Buffer {
  const isBase = BASE_COMMANDS.has(commandCode)
  return writeMessage({
    flags: flags.request | (more.flags ?? (isBase ? 0 : flags.proxiable)),
    command: commandCode,
    application: more.application ?? (isBase ? application.base : application.creditControl),
    hopByHopId: id,
    endToEndId: more.endToEndId ?? id,
    avps: [...wireAvps(named), ...(more.avps ?? [])],
  })
}

/** Commands between neighbours. */
const BASE_COMMANDS: ReadonlySet<number> = new Set([
  command.capabilitiesExchange,
  command.watchdog,
  command.disconnectPeer,
])

function answerTo(request: WireMessage, named: NamedAvps): Buffer {
  const avps: WireAvp[] = wireAvps(named)
  const isError = isProtocolError(uint32Of(avps, avpCode.resultCode) ?? 0)
  const { flags: asked, ...rest } = request
  const kept = asked & flags.proxiable
  return writeMessage({ ...rest, flags: isError ? kept | flags.error : kept, avps })
}

export type Identity = {
  'Origin-Host': string
  'Origin-Realm': string
}

const SUCCESS = 2001

/** Requests that every peer answers: DWR, DPR, and RAR and ASR for a session. */
export function answerAsPeer(identity: Identity): Respond {
  return (request) => {
    const sessionId = textOf(request.avps, avpCode.sessionId)
    const session = sessionId === undefined ? {} : { 'Session-Id': sessionId }
    return { ...session, 'Result-Code': SUCCESS, ...identity }
  }
}

export interface PeerOptions {
  port: number
  identity: Identity
  respond?: Respond
}

/** Connects, and exchanges capabilities. Rejects if that fails. */
export async function connectLink({ port, identity, respond }: PeerOptions): Promise<Link> {
  const link = await openLink({ port, identity, ...(respond && { respond }) })
  const answer = await link.ask(command.capabilitiesExchange, capabilitiesOf(identity))
  if (answer.named['Result-Code'] === SUCCESS) return link
  await link.close()
  throw new Error(`refused: ${JSON.stringify(answer.named)}`)
}

/** Connects, and sends nothing. */
export async function openLink({ port, identity, respond }: PeerOptions): Promise<Link> {
  const socket = connect(port, '127.0.0.1')
  const link = linkOn(socket, respond ?? answerAsPeer(identity))
  await once(socket, 'connect')
  return link
}

export function capabilitiesOf(identity: Identity): NamedAvps {
  return {
    ...identity,
    'Host-IP-Address': '127.0.0.1',
    'Vendor-Id': 0,
    'Product-Name': 'test',
    'Supported-Vendor-Id': 10415,
    'Auth-Application-Id': application.creditControl,
  }
}
