/** A peer that sends any bytes, valid or not. */
import { connect, type Socket } from 'node:net'
import {
  avp,
  readMessage,
  textAvp,
  uint32Avp,
  uint32Of,
  type WireAvp,
  type WireMessage,
  writeMessage,
} from '../../../../src/realtime/codecs/diameter-wire/message.ts'

const open: Socket[] = []

export function closePeers(): void {
  for (const socket of open.splice(0)) socket.destroy()
}

export const HOST = 'gw1.peer.test'
export const REALM = 'peer.test'

export function origin(host = HOST, realm = REALM): WireAvp[] {
  return [textAvp(264, host), textAvp(296, realm)]
}

/** The AVPs of a usual CER. */
export function cerAvps(host = HOST, realm = REALM): WireAvp[] {
  return [
    ...origin(host, realm),
    avp(257, Buffer.from([0, 1, 127, 0, 0, 1])),
    uint32Avp(266, 10415),
    avp(269, Buffer.from('test'), 0, false),
    uint32Avp(258, 4),
  ]
}

export interface Written extends Partial<Omit<WireMessage, 'avps'>> {
  readonly avps?: readonly WireAvp[]
}

/** A request by default. */
export function written(command: number, message: Written = {}): Buffer {
  const ids = { hopByHopId: 7, endToEndId: 9 }
  return writeMessage({ flags: 0x80, application: 0, ...ids, avps: [], command, ...message })
}

export const cer = (avps: readonly WireAvp[] = cerAvps()) => written(257, { avps })
export const dwr = (avps: readonly WireAvp[] = origin()) => written(280, { avps })
export const dpr = (cause = 0) => written(282, { avps: [...origin(), uint32Avp(273, cause)] })

/** A credit-control request for tests that only look at the frame. */
export function ccr(hopByHopId = 1, session = 's1', further: readonly WireAvp[] = []): Buffer {
  const avps = [textAvp(263, session), ...origin(), uint32Avp(415, hopByHopId), ...further]
  return written(272, { flags: 0xc0, application: 4, hopByHopId, endToEndId: hopByHopId, avps })
}

export const resultOf = (message: WireMessage | null) => uint32Of(message?.avps ?? [], 268)

export interface RawPeer {
  readonly socket: Socket
  send(...parts: Buffer[]): void
  /** The next message received, or null at the end. */
  next(): Promise<WireMessage | null>
  /** Sends a CER; returns the Result-Code. */
  introduce(bytes?: Buffer): Promise<number | undefined>
  readonly closed: Promise<void>
}

export function peerOf(socket: Socket): RawPeer {
  open.push(socket)
  let received = Buffer.alloc(0)
  const ready: WireMessage[] = []
  const waiting: ((message: WireMessage | null) => void)[] = []
  let hasEnded = false
  socket.on('data', (chunk: Buffer) => {
    received = Buffer.concat([received, chunk])
    while (received.length >= 20 && received.length >= received.readUIntBE(1, 3)) {
      const length = received.readUIntBE(1, 3)
      const message = readMessage(received.subarray(0, length))
      received = received.subarray(length)
      const take = waiting.shift()
      if (take === undefined) ready.push(message)
      else take(message)
    }
  })
  socket.on('error', () => undefined)
  const finish = () => {
    hasEnded = true
    for (const take of waiting.splice(0)) take(null)
  }
  socket.on('end', finish)
  const closed = new Promise<void>((resolve) => {
    socket.on('close', () => {
      finish()
      resolve()
    })
  })
  const next = () => {
    const message = ready.shift()
    if (message !== undefined || hasEnded) return Promise.resolve(message ?? null)
    return new Promise<WireMessage | null>((resolve) => waiting.push(resolve))
  }
  return {
    socket,
    closed,
    next,
    send: (...parts) => void socket.write(Buffer.concat(parts)),
    async introduce(bytes = cer()) {
      socket.write(bytes)
      return resultOf(await next())
    },
  }
}

export async function openPeer(port: number): Promise<RawPeer> {
  const socket = connect({ port, host: '127.0.0.1', noDelay: true })
  await new Promise((resolve) => socket.once('connect', resolve))
  return peerOf(socket)
}

/** A peer that has exchanged capabilities. */
export async function openKnownPeer(port: number, host = HOST): Promise<RawPeer> {
  const peer = await openPeer(port)
  const code = await peer.introduce(cer(cerAvps(host)))
  if (code !== 2001) throw new Error(`refused with ${code}`)
  return peer
}
