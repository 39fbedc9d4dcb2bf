/** One transmission to a syslog receiver: a TLS connection of its own (RFC 5425). */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import type { Config } from '../../config/schema.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import { readTlsFile } from '../../runtime/tls-files.ts'

export type SyslogSettings = Config['audit']['syslog']

/** The receiver did not take all of it, or did not say so. */
export class TransmissionError extends Error {
  override name = 'TransmissionError'
}

const TIMEOUT_MS = 30_000
const QUIET_MS_MIN = 50
const IP_ADDRESS = /^[\d.]+$|:/

/**
 * Sends the frames, ends the connection, and waits until the receiver ends it as well. A receiver
 * that ends it with something unread resets it, which is an error. One that had ended it before the
 * frames came shows within the time of a handshake, which is awaited before this side ends it.
 * Rejects with `TransmissionError`, or `TlsFileError` for files that cannot be used.
 */
export async function transmit(settings: SyslogSettings, frames: readonly Buffer[]): Promise<void> {
  const options = tlsOptions(settings)
  await new Promise<void>((resolve, reject) => {
    const socket = connect(options)
    const fail = (reason: string) => {
      socket.destroy()
      reject(new TransmissionError(`syslog receiver ${settings.host}:${settings.port}: ${reason}`))
    }
    const beganMs = monotonicMs()
    let isFlushed = false
    socket.setTimeout(TIMEOUT_MS, () => fail(`no answer within ${TIMEOUT_MS} ms`))
    socket.on('error', (error) => fail(error.message))
    socket.on('close', () => fail('it has ended the connection before all was sent'))
    socket.on('finish', () => {
      isFlushed = true
    })
    socket.on('end', () => {
      if (!isFlushed) return fail('it has ended the connection before all was sent')
      socket.removeAllListeners('close')
      socket.destroy()
      resolve()
    })
    // Receivers say nothing; without reading, their end would not be seen.
    socket.resume()
    socket.on('secureConnect', () => {
      const quietMs = Math.max(QUIET_MS_MIN, monotonicMs() - beganMs)
      writeAll(socket, frames, quietMs).then(
        () => socket.end(),
        (error: unknown) => fail((error as Error).message),
      )
    })
  })
}

async function writeAll(
  socket: TLSSocket,
  frames: readonly Buffer[],
  quietMs: number,
): Promise<void> {
  for (const frame of frames) {
    if (!socket.write(frame)) {
      // It never drains where the connection ends: then the transmission has failed already.
      await once(socket, 'drain')
    }
  }
  await delay(quietMs)
}

/** Files are read for each transmission, so that renewed ones are used. */
function tlsOptions({ host, port, caFile, certFile, keyFile }: SyslogSettings) {
  const read = (name: string, file: string) => readTlsFile(`audit.syslog.${name}`, file)
  return {
    host,
    port,
    minVersion: 'TLSv1.2' as const,
    rejectUnauthorized: true,
    ...(IP_ADDRESS.test(host) ? {} : { servername: host }),
    ...(caFile === '' ? {} : { ca: read('caFile', caFile) }),
    ...(certFile === '' ? {} : { cert: read('certFile', certFile) }),
    ...(keyFile === '' ? {} : { key: read('keyFile', keyFile) }),
  }
}
