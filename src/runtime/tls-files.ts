/** Reads a certificate and its private key, and says which file is at fault. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext } from 'node:tls'

/** A file of a `tls` section cannot be used; the message has its path, never its content. */
export class TlsFileError extends Error {
  override name = 'TlsFileError'
}

export interface KeyPairFiles {
  /** PEM, with the chain. */
  readonly certFile: string
  readonly keyFile: string
}

export interface KeyPair {
  readonly cert: Buffer
  readonly key: Buffer
  /** Whether everybody on this machine may read the key. */
  readonly isKeyExposed: boolean
}

/** What is warned of where `isKeyExposed`. */
export const KEY_EXPOSED =
  'everybody on this machine may read the private key: take that right away'

/** `section`: where the files are named, as in `admin.tls`. Throws `TlsFileError`. */
export function readKeyPair(section: string, { certFile, keyFile }: KeyPairFiles): KeyPair {
  const cert = readTlsFile(`${section}.certFile`, certFile)
  const key = readTlsFile(`${section}.keyFile`, keyFile)
  const certName = `${section}.certFile ${certFile}`
  const keyName = `${section}.keyFile ${keyFile}`
  checkTlsFile(`${certName} has no certificate`, () => new X509Certificate(cert))
  checkTlsFile(`${keyName} has no private key without a passphrase`, () => createPrivateKey(key))
  checkTlsFile(`${keyName} is not the key of the certificate`, () =>
    createSecureContext({ cert, key }),
  )
  return { cert, key, isKeyExposed: isReadByAll(keyFile) }
}

/** `setting`: that names the file. Throws `TlsFileError`. */
export function readTlsFile(setting: string, file: string): Buffer {
  if (file === '') throw new TlsFileError(`${setting} must name a file`)
  try {
    return readFileSync(file)
  } catch (error) {
    throw new TlsFileError(`${setting} ${file} cannot be read: ${codeOf(error)}`)
  }
}

/** What goes wrong is told as `problem`: the errors of OpenSSL quote what they have read. */
export function checkTlsFile(problem: string, use: () => unknown): void {
  try {
    use()
  } catch {
    throw new TlsFileError(problem)
  }
}

const READ_BY_OTHERS = 0o004

/** Windows has other rights, and says that everybody may read. */
function isReadByAll(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & READ_BY_OTHERS) !== 0
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
