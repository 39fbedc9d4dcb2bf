/** freeDiameter as a relay between test clients and a node, where it is installed. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { choosePort } from '../../product/ports.ts'
import { toolPath } from '../../tools.ts'
import { waitUntil } from '../../wait.ts'
import type { Identity } from './link.ts'

const EXTENSIONS = ['dict_nasreq', 'dict_dcca', 'dict_dcca_3gpp']
const FOLDERS = ['/usr/lib/freeDiameter', '/usr/local/lib/freeDiameter']

const folder = FOLDERS.find((one) => existsSync(join(one, 'dict_dcca.fdx')))

const FREE_DIAMETER = toolPath('freeDiameterd')

/**
 * freeDiameter with its dictionaries, and openssl: it needs a certificate even if it is not used.
 */
export const hasFreeDiameter = [folder, FREE_DIAMETER, toolPath('openssl')].every(
  (path) => path !== undefined,
)

export const RELAY: Identity = {
  'Origin-Host': 'relay.relay.example',
  'Origin-Realm': 'relay.example',
}
/** Any host of this realm may connect to it, besides the node. */
export const CLIENT_REALM = 'client.example'
/** The minimum that it accepts. */
export const WATCHDOG_SECONDS = 6

export interface Relay {
  readonly port: number
  /** Its output. */
  log(): string
  /** Waits until it has connected to the node for the given number of times. */
  connected(count?: number): Promise<void>
  stop(): Promise<void>
}

export interface Node {
  originHost: string
  port: number
}

/** Another process may use the free port before freeDiameter does. */
const ATTEMPTS = 3

/** Starts the relay; it connects to the node as soon as there is one, and reconnects. */
export async function startRelay(node: Node): Promise<Relay> {
  for (let attempt = 1; ; attempt += 1) {
    const relay = spawnRelay(node, await choosePort())
    try {
      await relay.initialized()
      return relay
    } catch (error) {
      await relay.stop()
      if (attempt === ATTEMPTS) throw error
    }
  }
}

function spawnRelay(node: Node, port: number): Relay & { initialized(): Promise<void> } {
  const home = mkdtempSync(join(tmpdir(), 'tg-relay-'))
  writeConfiguration(home, port, node)
  const child = spawn(FREE_DIAMETER ?? 'freeDiameterd', ['-c', join(home, 'relay.conf')], {
    cwd: home,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const kill = () => child.kill('SIGKILL')
  process.once('exit', kill)
  const output: string[] = []
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => output.push(bytes.toString('utf8')))
  }
  const log = () => output.join('')
  return {
    port,
    log,
    initialized: () => until(child, log, 'the relay', () => log().includes('daemon initialized')),
    connected: (count = 1) =>
      until(child, log, `connection ${count} of the relay to the node`, () => {
        return log().split(`'STATE_OPEN'\t'${node.originHost}'`).length > count
      }),
    async stop() {
      await end(child)
      process.off('exit', kill)
      rmSync(home, { recursive: true, force: true })
    },
  }
}

async function until(
  child: ChildProcess,
  log: () => string,
  what: string,
  condition: () => boolean,
): Promise<void> {
  try {
    await waitUntil(what, () => {
      if (condition()) return true
      if (child.exitCode !== null) throw new Error(`it ended with code ${child.exitCode}`)
      return false
    })
  } catch (error) {
    throw new Error(`${what}: ${error}\n${log()}`)
  }
}

/** Kills it: there is nothing to lose, and its own shutdown takes seconds. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

function writeConfiguration(home: string, port: number, node: Node): void {
  const at = (name: string) => join(home, name)
  const keys = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
  const subject = ['-subj', `/CN=${RELAY['Origin-Host']}`, '-days', '2']
  const files = ['-keyout', at('key.pem'), '-out', at('cert.pem')]
  openssl('req', '-x509', ...keys, ...subject, ...files)
  // Given, because otherwise it would search for primes.
  const group = ['-algorithm', 'DH', '-pkeyopt', 'group:ffdhe2048']
  openssl('genpkey', '-genparam', ...group, '-out', at('dh.pem'))
  // With this flag those peers need no TLS.
  writeFileSync(at('clients.conf'), `ALLOW_IPSEC *.${CLIENT_REALM}\n`)
  const lines = [
    `Identity = "${RELAY['Origin-Host']}";`,
    `Realm = "${RELAY['Origin-Realm']}";`,
    `Port = ${port};`,
    'SecPort = 0;',
    'No_SCTP;',
    'No_IPv6;',
    'ListenOn = "127.0.0.1";',
    'TcTimer = 1;',
    `TwTimer = ${WATCHDOG_SECONDS};`,
    'AppServThreads = 2;',
    `TLS_Cred = "${at('cert.pem')}", "${at('key.pem')}";`,
    `TLS_CA = "${at('cert.pem')}";`,
    `TLS_DH_File = "${at('dh.pem')}";`,
    ...EXTENSIONS.map((name) => `LoadExtension = "${folder}/${name}.fdx";`),
    `LoadExtension = "${folder}/acl_wl.fdx" : "${at('clients.conf')}";`,
    `ConnectPeer = "${node.originHost}" {`,
    `  ConnectTo = "127.0.0.1"; Port = ${node.port}; No_TLS; No_SCTP; TcTimer = 1;`,
    '};',
  ]
  writeFileSync(at('relay.conf'), `${lines.join('\n')}\n`)
}

function openssl(...args: string[]): void {
  const { status, stderr } = spawnSync('openssl', args, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`openssl ${args[0]}: ${stderr}`)
}
