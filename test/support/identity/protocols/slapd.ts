/** A slapd for one test: configuration, port and data in a temporary folder. */
import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../product/ports.ts'
import { createAuthority, HAS_OPENSSL } from '../../realtime/diameter/certificates.ts'
import { toolPath } from '../../tools.ts'
import { waitUntil } from '../../wait.ts'

const SLAPD = toolPath('slapd')
const MODULES = ['/usr/lib/ldap', '/usr/lib64/openldap', '/usr/libexec/openldap'].find((folder) =>
  existsSync(join(folder, 'back_mdb.so')),
)
const SCHEMAS = ['/etc/ldap/schema', '/etc/openldap/schema'].find((folder) =>
  existsSync(join(folder, 'inetorgperson.schema')),
)

const LDAPADD = toolPath('ldapadd')

/**
 * Whether there are slapd with its modules and schemas, ldapadd, and openssl for its certificate.
 */
export const hasSlapd =
  [SLAPD, LDAPADD, MODULES, SCHEMAS].every((path) => path !== undefined) && HAS_OPENSSL

export const SUFFIX = 'dc=example,dc=net'
export const SERVICE = { dn: `cn=tollgate,${SUFFIX}`, password: 'service-s3cret' }

export interface Slapd {
  /** Without TLS, and with StartTLS. */
  readonly url: string
  /** With TLS from the start. */
  readonly urlTls: string
  /** PEM of the authority of its certificate, which is for localhost. */
  readonly ca: string
  /** Files of certificates by the same authority. */
  issue(name: string, ...dnsNames: string[]): { certFile: string; keyFile: string }
  /** Kills it, as in a crash. */
  kill(): Promise<void>
  /** Stops it and removes its folder. */
  close(): Promise<void>
}

/** Another process may take the port between its choice and the start. */
const ATTEMPTS = 3

/** Starts with the entries of `ldif`. */
export async function startSlapd(ldif: string): Promise<Slapd> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOn(ldif, await choosePort(), await choosePort())
    } catch (error) {
      if (attempt === ATTEMPTS) throw error
    }
  }
}

async function startOn(ldif: string, port: number, portTls: number): Promise<Slapd> {
  if (SLAPD === undefined) throw new Error('there is no slapd')
  const home = mkdtempSync(join(tmpdir(), 'tg-slapd-'))
  const authority = createAuthority()
  const { certFile, keyFile } = authority.issue('directory', 'localhost')
  const file = (name: string) => join(home, name)
  mkdirSync(file('data'))
  writeFileSync(file('slapd.conf'), configuration(home, authority.caFile, certFile, keyFile))
  writeFileSync(file('entries.ldif'), ldif)
  const load = ['-T', 'add', '-f', file('slapd.conf'), '-l', file('entries.ldif')]
  const loaded = spawnSync(SLAPD, load)
  if (loaded.status !== 0) throw new Error(`slapadd: ${loaded.stderr.toString('utf8')}`)
  const urls = `ldap://127.0.0.1:${port}/ ldaps://127.0.0.1:${portTls}/`
  const child = spawn(SLAPD, ['-f', file('slapd.conf'), '-h', urls, '-d', '0'], {
    stdio: 'ignore',
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const end = async () => {
    kill()
    await ended(child)
  }
  try {
    await waitUntil('slapd', () => {
      if (child.exitCode !== null) throw new Error(`slapd ended with code ${child.exitCode}`)
      return answers(port)
    })
  } catch (error) {
    await end()
    throw error
  }
  return {
    url: `ldap://localhost:${port}`,
    urlTls: `ldaps://localhost:${portTls}`,
    ca: readFileSync(authority.caFile, 'utf8'),
    issue: authority.issue,
    kill: end,
    async close() {
      await end()
      process.off('exit', kill)
      rmSync(home, { recursive: true, force: true })
    },
  }
}

function configuration(home: string, caFile: string, certFile: string, keyFile: string): string {
  const schemas = ['core', 'cosine', 'inetorgperson'].map(
    (name) => `include ${join(SCHEMAS ?? '', `${name}.schema`)}`,
  )
  const lines = [
    ...schemas,
    `modulepath ${MODULES}`,
    'moduleload back_mdb',
    'moduleload memberof',
    `pidfile ${join(home, 'pid')}`,
    `argsfile ${join(home, 'args')}`,
    `TLSCACertificateFile ${caFile}`,
    `TLSCertificateFile ${certFile}`,
    `TLSCertificateKeyFile ${keyFile}`,
    // Like directories that treat a DN without a password as an anonymous bind.
    'allow bind_anon_cred bind_anon_dn',
    'database mdb',
    'maxsize 16777216',
    `suffix "${SUFFIX}"`,
    `directory ${home}/data`,
    `rootdn "${SERVICE.dn}"`,
    `rootpw ${SERVICE.password}`,
    'access to attrs=userPassword by anonymous auth by * none',
    `access to dn.subtree="ou=hidden,${SUFFIX}" by * none`,
    'access to * by * read',
    'overlay memberof',
    '',
  ]
  return lines.join('\n')
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    const say = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.once('connect', () => say(true))
    socket.once('error', () => say(false))
  })
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
}

/** Adds entries while it runs, so that its overlays process them. */
export function addEntries({ url }: Pick<Slapd, 'url'>, ldif: string): void {
  const who = ['-x', '-H', url, '-D', SERVICE.dn, '-w', SERVICE.password]
  execFileSync(LDAPADD ?? 'ldapadd', who, { input: ldif, stdio: ['pipe', 'ignore', 'pipe'] })
}
