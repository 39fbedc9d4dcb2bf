/** Reads the certificate, key and authorities of the node, and says which file is at fault. */
import { X509Certificate } from 'node:crypto'
import type { Config } from '../../config/schema.ts'
import { checkTlsFile, type KeyPair, readKeyPair, readTlsFile } from '../../runtime/tls-files.ts'

export interface TlsFiles extends KeyPair {
  /** Authorities of the peers' certificates; undefined: peers need none. */
  readonly ca: string[] | undefined
}

/** Throws `TlsFileError`. */
export function readTlsFiles(
  tls: Pick<Config['diameter']['tls'], 'certFile' | 'keyFile' | 'clientCaFile'>,
): TlsFiles {
  const pair = readKeyPair('diameter.tls', tls)
  const { clientCaFile } = tls
  if (clientCaFile === '') return { ...pair, ca: undefined }
  const text = readTlsFile('diameter.tls.clientCaFile', clientCaFile).toString('latin1')
  const authorities = text.match(PEM) ?? []
  checkTlsFile(`diameter.tls.clientCaFile ${clientCaFile} has no certificate`, () => {
    // Node leaves out what it cannot read, and would then trust nobody, or too few.
    if (authorities.length === 0) throw new Error('none')
    for (const one of authorities) new X509Certificate(one)
  })
  return { ...pair, ca: authorities }
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g
