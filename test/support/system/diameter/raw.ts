/** A connection that sends arbitrary bytes, and keeps what it receives. */
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { writeMessage } from '../../../../src/realtime/codecs/diameter-wire/message.ts'
import { command, flags } from '../../../../src/realtime/codecs/diameter-wire/protocol.ts'
import { wireAvps } from '../../../../src/realtime/diameter/named.ts'
import { capabilitiesOf, type Identity } from './link.ts'

export interface RawLink {
  readonly socket: Socket
  /** Complete messages, in the order in which they arrived. */
  readonly messages: readonly Buffer[]
  /** Resolves when `count` messages have arrived, or no more can. */
  received(count: number): Promise<void>
  /** Resolves when the other side has closed it, or has been found closed. */
  readonly closed: Promise<void>
}

export async function openRaw(port: number): Promise<RawLink> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  const messages: Buffer[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  let rest: Buffer = Buffer.alloc(0)
  let hasEnded = false
  const resolveWaiting = () => {
    for (const { count, resolve } of waiting) if (hasEnded || messages.length >= count) resolve()
  }
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes])
    while (rest.length >= 4 && rest.length >= rest.readUIntBE(1, 3)) {
      const length = rest.readUIntBE(1, 3)
      messages.push(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
    resolveWaiting()
  })
  socket.on('error', () => undefined)
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      hasEnded = true
      resolveWaiting()
      resolve()
    })
  })
  await once(socket, 'connect')
  return {
    socket,
    messages,
    closed,
    received: (count) =>
      new Promise((resolve) => {
        waiting.push({ count, resolve })
        resolveWaiting()
      }),
  }
}

/** CER, with a hop-by-hop identifier of 1. */
export function capabilities(identity: Identity): Buffer {
  return writeMessage({
    flags: flags.request,
    command: command.capabilitiesExchange,
    application: 0,
    hopByHopId: 1,
    endToEndId: 1,
    avps: wireAvps(capabilitiesOf(identity)),
  })
}
