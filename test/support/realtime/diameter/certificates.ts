/** Certificates for the tests of TLS, made with openssl (`HAS_OPENSSL`). */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const HAS_OPENSSL = spawnSync('openssl', ['version']).status === 0

export type CertificateFiles = { certFile: string; keyFile: string }

export interface Authority {
  readonly caFile: string
  /** Returns the files of a certificate with these DNS names. */
  issue(name: string, ...dnsNames: string[]): CertificateFiles
  /** The same with an RSA key. */
  issueRsa(name: string, ...dnsNames: string[]): CertificateFiles
}

/** Changes that make the files of a certificate unusable, and the problem that is reported. */
export function unusableFiles(section: string, { certFile }: CertificateFiles, other: string) {
  const nonsense = `${certFile}.nonsense`
  writeFileSync(nonsense, 'SECRET')
  const rows: [change: Partial<CertificateFiles>, problem: string][] = [
    [{ certFile: '/nowhere' }, 'certFile /nowhere cannot be read: ENOENT'],
    [{ keyFile: '/nowhere' }, 'keyFile /nowhere cannot be read: ENOENT'],
    [{ certFile: '' }, 'certFile must name a file'],
    [{ certFile: '/' }, 'certFile / cannot be read: EISDIR'],
    [{ certFile: nonsense }, `certFile ${nonsense} has no certificate`],
    [{ keyFile: nonsense }, `keyFile ${nonsense} has no private key without a passphrase`],
    [{ keyFile: other }, `keyFile ${other} is not the key of the certificate`],
  ]
  return rows.map(([change, problem]) => ({ change, text: `${section}.${problem}` }))
}

/** In its own folder below that of temporary files. */
export function createAuthority(): Authority {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-tls-'))
  const file = (name: string) => join(folder, name)
  const openssl = (...parts: string[]) => execFileSync('openssl', parts, { stdio: 'pipe' })
  const newKey = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
  const caFile = file('ca.pem')
  const caKey = file('ca.key')
  openssl(
    'req',
    '-x509',
    ...newKey,
    '-keyout',
    caKey,
    '-out',
    caFile,
    '-days',
    '3650',
    '-subj',
    '/CN=test authority',
  )
  const issueWith = (newKey: string[], name: string, dnsNames: string[]) => {
    const [keyFile, request, certFile] = ['key', 'csr', 'pem'].map((end) =>
      file(`${name}.${end}`),
    ) as [string, string, string]
    const extensions = file(`${name}.ext`)
    const names = dnsNames.map((each) => `DNS:${each}`)
    writeFileSync(extensions, names.length === 0 ? '' : `subjectAltName=${names.join(',')}\n`)
    openssl('req', '-new', ...newKey, '-keyout', keyFile, '-out', request, '-subj', `/CN=${name}`)
    openssl(
      'x509',
      '-req',
      '-in',
      request,
      '-CA',
      caFile,
      '-CAkey',
      caKey,
      '-CAcreateserial',
      '-days',
      '3650',
      '-extfile',
      extensions,
      '-out',
      certFile,
    )
    return { certFile, keyFile }
  }
  return {
    caFile,
    issue: (name, ...dnsNames) => issueWith(newKey, name, dnsNames),
    issueRsa: (name, ...dnsNames) => issueWith(['-newkey', 'rsa:2048', '-nodes'], name, dnsNames),
  }
}
