/** Reads the certificate, key and authorities of the node, and says which file is at fault. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import type { Config } from '../../config/schema.ts'

/** A file of `diameter.tls` cannot be used; the message has its path, never its content. */
export class TlsFileError extends Error {
  override name = 'TlsFileError'
}

export interface TlsFiles {
  readonly cert: Buffer
  readonly key: Buffer
  /** Authorities of the peers' certificates; undefined: peers need none. */
  readonly ca: string[] | undefined
}

/** Throws `TlsFileError`. */
export function readTlsFiles(
  tls: Pick<Config['diameter']['tls'], 'certFile' | 'keyFile' | 'clientCaFile'>,
): TlsFiles {
  const cert = read('certFile', tls.certFile)
  const key = read('keyFile', tls.keyFile)
  check('certFile', tls.certFile, 'has no certificate', () => new X509Certificate(cert))
  check('keyFile', tls.keyFile, 'has no private key without a passphrase', () =>
    createPrivateKey(key),
  )
  check('keyFile', tls.keyFile, 'is not the key of the certificate', () =>
    createSecureContext({ cert, key }),
  )
  if (tls.clientCaFile === '') return { cert, key, ca: undefined }
  const authorities = read('clientCaFile', tls.clientCaFile).toString('latin1').match(PEM) ?? []
  check('clientCaFile', tls.clientCaFile, 'has no certificate', () => {
    // Node leaves out what it cannot read, and would then trust nobody, or too few.
    if (authorities.length === 0) throw new Error('none')
    for (const one of authorities) new X509Certificate(one)
  })
  return { cert, key, ca: authorities }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

function read(setting: string, file: string): Buffer {
  if (file === '') throw new TlsFileError(`diameter.tls.${setting} must name a file`)
  try {
    return readFileSync(file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new TlsFileError(`diameter.tls.${setting} ${file} cannot be read: ${code}`)
  }
}

function check(setting: string, file: string, why: string, use: () => unknown): void {
  try {
    use()
  } catch {
    throw new TlsFileError(`diameter.tls.${setting} ${file} ${why}`)
  }
}
