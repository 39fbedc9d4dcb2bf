/** Certificates of clients over Node's own server: which are refused, and which names they have. */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { monotonicMs } from '../../runtime/clock.ts'
import { clientNames } from '../certificate-names.ts'
import type { ListenOptions } from './listening.ts'
import { createRefusalLog } from './refusal-log.ts'
import { sourceClassOf } from './source-class.ts'

/** Names of the certificates of open connections, read once for each. */
const known = new WeakMap<Socket, readonly string[] | null>()

/** Null without a certificate. One that is not trusted does not get so far. */
export function certificateNamesOf(socket: Socket): readonly string[] | null {
  if (!(socket instanceof TLSSocket)) return null
  let names = known.get(socket)
  if (names === undefined) {
    names = socket.authorized ? clientNames(socket.getPeerCertificate()) : null
    known.set(socket, names)
  }
  return names
}

const NOT_SHOWN = 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE'

/**
 * Refuses a certificate that is not of the authorities, also where none is required: the client
 * relies on it. Who must show one and does not has failed in the handshake, and is told of.
 */
export function refuseCertificates(
  server: Server,
  { log, metrics }: Pick<ListenOptions, 'log' | 'metrics'>,
): void {
  const refusalLog = createRefusalLog(log, monotonicMs)
  const refuse = (socket: TLSSocket, problem: unknown) => {
    const address = addressOf(socket)
    metrics.refused('', 'certificate', sourceClassOf(address))
    refusalLog({ peer: '', cause: 'certificate', address, why: `certificate: ${problem}` })
    socket.destroy()
  }
  // In front of the listener that reads requests.
  server.prependListener('secureConnection', (socket) => {
    if (socket.authorized || Object.keys(socket.getPeerCertificate()).length === 0) return
    refuse(socket, socket.authorizationError)
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === NOT_SHOWN) refuse(socket, 'is required')
    else if (socket.authorizationError) refuse(socket, socket.authorizationError)
  })
}

/** In front of an IPv4 address that came over IPv6. */
const MAPPED = '::ffff:'

/** As `Exchange.remoteAddress` gives it. */
export function addressOf(socket: Socket): string {
  const address = socket.remoteAddress ?? ''
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length)
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}
