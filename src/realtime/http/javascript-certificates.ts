/** Client certificates with Node's own server: refusals and names. */
import type { Server } from 'node:https'
import type { Socket } from 'node:net'
import { TLSSocket } from 'node:tls'
import { monotonicMs } from '../../runtime/clock.ts'
import { clientNames } from '../certificate-names.ts'
import type { ListenOptions } from './listening.ts'
import { createRefusalLog } from './refusal-log.ts'
import { sourceClassOf } from './source-class.ts'

/** Certificate names of open connections, read once per connection. */
const namesBySocket = new WeakMap<Socket, readonly string[] | null>()

/**
 * Null without a certificate. A connection with an untrusted certificate has been refused before.
 */
export function certificateNamesOf(socket: Socket): readonly string[] | null {
  if (!(socket instanceof TLSSocket)) return null
  let names = namesBySocket.get(socket)
  if (names === undefined) {
    names = socket.authorized ? clientNames(socket.getPeerCertificate()) : null
    namesBySocket.set(socket, names)
  }
  return names
}

const NOT_SHOWN = 'ERR_SSL_PEER_DID_NOT_RETURN_A_CERTIFICATE'

/**
 * Refuses certificates that the configured authorities have not issued, even where none is
 * required, because the client relies on it. A client that must present one and does not has failed
 * in the handshake; that is reported.
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
  // Before the listener that reads requests.
  server.prependListener('secureConnection', (socket) => {
    if (socket.authorized || Object.keys(socket.getPeerCertificate()).length === 0) return
    refuse(socket, socket.authorizationError)
  })
  server.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
    if (error.code === NOT_SHOWN) refuse(socket, 'is required')
    else if (socket.authorizationError) refuse(socket, socket.authorizationError)
  })
}

/** Prefix of IPv4-mapped addresses. */
const MAPPED = '::ffff:'

/** Address in the format of `Exchange.remoteAddress`. */
export function addressOf(socket: Socket): string {
  const address = socket.remoteAddress ?? ''
  if (address.startsWith(MAPPED) && address.includes('.')) return address.slice(MAPPED.length)
  const zone = address.indexOf('%')
  return zone < 0 ? address : address.slice(0, zone)
}
