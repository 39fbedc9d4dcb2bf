/** One transmission to a syslog receiver over its own TLS connection (RFC 5425). */
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { connect, type TLSSocket } from 'node:tls'
import type { Config } from '../../config/schema.ts'
import { monotonicMs } from '../../runtime/clock.ts'
import { readTlsFile } from '../../runtime/tls-files.ts'

export type SyslogSettings = Config['audit']['syslog']

/** The receiver did not accept everything, or did not confirm it. */
export class TransmissionError extends Error {
  override name = 'TransmissionError'
}

const TIMEOUT_MS = 30_000
const QUIET_MS_MIN = 50
const IP_ADDRESS = /^[\d.]+$|:/

/**
 * Sends the frames, closes the connection, and waits until the receiver closes it too. A receiver
 * that closes it with unread data resets it, which is an error. A close that precedes the frames is
 * detected within one handshake time, which this side waits before closing. Rejects with
 * `TransmissionError`, or `TlsFileError` for unusable files.
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
    socket.on('close', () => fail('it closed the connection before everything was sent'))
    socket.on('finish', () => {
      isFlushed = true
    })
    socket.on('end', () => {
      if (!isFlushed) return fail('it closed the connection before everything was sent')
      socket.removeAllListeners('close')
      socket.destroy()
      resolve()
    })
    // Receivers send nothing, but the end of the connection is only seen while reading.
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
      // If the connection ends it never drains; the transmission has already failed in that case.
      await once(socket, 'drain')
    }
  }
  await delay(quietMs)
}

/** Files are read for each transmission, so that renewed certificates are used. */
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
