/** Reads and checks the files of a `tls` section, and builds options of them. */
import { createHash, createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync, statSync } from 'node:fs'
import { createSecureContext, type SecureContextOptions } from 'node:tls'
import { DEFAULT_CIPHERS, type TlsVersion } from '../config/tls.ts'

/** A file of a `tls` section cannot be used; the message has its path, never its content. */
export class TlsFileError extends Error {
  override name = 'TlsFileError'
}

/** The `tls` settings that all listeners have. */
export interface TlsSettings {
  /** PEM with the certificate chain. */
  readonly certFile: string
  readonly keyFile: string
  /** CAs of client certificates, PEM; absent or empty if clients need no certificate. */
  readonly clientCaFile?: string
  readonly minVersion: TlsVersion
  /** `DEFAULT_CIPHERS` if empty. */
  readonly ciphers: readonly string[]
}

/** Checked contents of the files. */
export interface TlsFiles {
  readonly cert: Buffer
  readonly key: Buffer
  /** CAs of client certificates; undefined if clients need no certificate. */
  readonly ca: string[] | undefined
  /** Whether all users of this machine may read the key. */
  readonly isKeyExposed: boolean
  /** End of the certificate's validity, ms. */
  readonly notAfterMs: number
  /** Digest of all contents. */
  readonly fingerprint: string
}

/** `section`: name of the settings section, as in `admin.tls`. Throws `TlsFileError`. */
export function readTlsFiles(section: string, settings: TlsSettings): TlsFiles {
  const { certFile, keyFile, clientCaFile = '' } = settings
  const cert = readTlsFile(`${section}.certFile`, certFile)
  const key = readTlsFile(`${section}.keyFile`, keyFile)
  const certName = `${section}.certFile ${certFile}`
  const keyName = `${section}.keyFile ${keyFile}`
  checkTlsFile(`${certName} has no certificate`, () => new X509Certificate(cert))
  checkTlsFile(`${keyName} has no private key without a passphrase`, () => createPrivateKey(key))
  checkTlsFile(`${keyName} is not the key of the certificate`, () =>
    createSecureContext({ cert, key }),
  )
  const caName = `${section}.clientCaFile`
  const caText = clientCaFile === '' ? null : readTlsFile(caName, clientCaFile)
  const ca = caText === null ? undefined : authoritiesIn(caText, `${caName} ${clientCaFile}`)
  return {
    cert,
    key,
    ca,
    isKeyExposed: isReadByAll(keyFile),
    notAfterMs: Date.parse(new X509Certificate(cert).validTo),
    fingerprint: fingerprintOf(caText === null ? [cert, key] : [cert, key, caText]),
  }
}

/** The configured files, in the order of `fingerprintOf`. */
export function namedFiles({ certFile, keyFile, clientCaFile = '' }: TlsSettings): string[] {
  return [certFile, keyFile, clientCaFile].filter((file) => file !== '')
}

export function fingerprintOf(contents: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const content of contents) hash.update(`${content.length}:`).update(content)
  return hash.digest('hex')
}

/** Options for a Node TLS server, also for `setSecureContext`. */
export function secureContext(
  { cert, key, ca }: TlsFiles,
  { minVersion, ciphers }: TlsSettings,
): SecureContextOptions {
  const names = ciphers.length === 0 ? DEFAULT_CIPHERS : ciphers
  const trust = ca === undefined ? {} : { ca }
  return { cert, key, ...trust, minVersion, ciphers: names.join(':'), honorCipherOrder: true }
}

function authoritiesIn(content: Buffer, name: string): string[] {
  const authorities = content.toString('latin1').match(PEM) ?? []
  checkTlsFile(`${name} has no certificate`, () => {
    // Node skips unreadable certificates and would then trust no CA, or too few.
    if (authorities.length === 0) throw new Error('none')
    for (const one of authorities) new X509Certificate(one)
  })
  return authorities
}

const PEM = /-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g

export function readTlsFile(setting: string, file: string): Buffer {
  if (file === '') throw new TlsFileError(`${setting} must name a file`)
  try {
    return readFileSync(file)
  } catch (error) {
    throw new TlsFileError(`${setting} ${file} cannot be read: ${codeOf(error)}`)
  }
}

/** Any error becomes `problem`: messages of OpenSSL quote file contents. */
export function checkTlsFile(problem: string, use: () => unknown): void {
  try {
    use()
  } catch {
    throw new TlsFileError(problem)
  }
}

const READ_BY_OTHERS = 0o004

/** Windows has other permissions; its mode always says that all users may read. */
function isReadByAll(file: string): boolean {
  return process.platform !== 'win32' && (statSync(file).mode & READ_BY_OTHERS) !== 0
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
