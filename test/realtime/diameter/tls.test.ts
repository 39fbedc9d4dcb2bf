import { readFileSync, writeFileSync } from 'node:fs'
import { connect as connectTcp } from 'node:net'
import { type ConnectionOptions, connect } from 'node:tls'
import { describe, expect, it } from 'vitest'
import { readTlsFiles } from '../../../src/runtime/tls-files.ts'
import { useMade } from '../../support/opened.ts'
import {
  createAuthority,
  HAS_OPENSSL,
  unusableFiles,
} from '../../support/realtime/diameter/certificates.ts'
import { nodeOf } from '../../support/realtime/diameter/node-of.ts'
import {
  ccr,
  cer,
  cerAvps,
  HOST,
  openKnownPeer,
  peerOf,
  type RawPeer,
  resultOf,
} from '../../support/realtime/diameter/raw-peer.ts'
import { waitUntil } from '../../support/wait.ts'

/** With the default versions and cipher suites. */
const LIMITS = { minVersion: 'TLSv1.2', ciphers: [] } as const

describe.skipIf(!HAS_OPENSSL)('TLS (needs openssl)', () => {
  const authority = useMade(createAuthority)
  const server = useMade(() => authority().issue('server', 'ocs.example.net'))

  const tlsNode = (clientCaFile = '', only = false) =>
    nodeOf({
      settings: {
        capabilitiesTimeoutMs: 300,
        tls: { ...LIMITS, enabled: true, only, port: 0, ...server(), clientCaFile },
      },
    })

  const openTls = async (port: number, options: ConnectionOptions = {}): Promise<RawPeer> => {
    const ca = readFileSync(authority().caFile)
    const servername = 'ocs.example.net'
    const socket = connect({ port, host: '127.0.0.1', ca, servername, ...options })
    const peer = peerOf(socket)
    await new Promise((resolve) => {
      socket.once('secureConnect', resolve)
      socket.once('close', resolve)
    })
    return peer
  }

  const credentialsOf = ({ certFile, keyFile }: { certFile: string; keyFile: string }) => {
    return { cert: readFileSync(certFile), key: readFileSync(keyFile) }
  }

  it('accepts peers without certificates if there is no authority, beside TCP', async () => {
    const { node, port } = await tlsNode()
    const peer = await openTls(node.tlsPort)
    expect(await peer.introduce()).toBe(2001)
    peer.send(ccr(1), ccr(2))
    expect(resultOf(await peer.next())).toBe(2001)
    expect(resultOf(await peer.next())).toBe(2001)
    const plain = await openKnownPeer(port)
    plain.send(ccr(3))
    expect(resultOf(await plain.next())).toBe(2001)
    peer.socket.end()
    expect(await peer.next()).toBeNull()
  })

  it('is the only listener if so configured', async () => {
    const { node } = await tlsNode('', true)
    expect(node.port).toBe(0)
    expect(await (await openTls(node.tlsPort)).introduce()).toBe(2001)
  })

  it('accepts the Origin-Host of the certificate, in any case', async () => {
    const { node } = await tlsNode(authority().caFile)
    const client = credentialsOf(authority().issue('client', 'other.test', HOST.toUpperCase()))
    const peer = await openTls(node.tlsPort, client)
    expect(await peer.introduce(cer(cerAvps('Gw1.Peer.Test')))).toBe(2001)
    const other = await openTls(node.tlsPort, client)
    expect(await other.introduce(cer(cerAvps('gw2.peer.test')))).toBe(3010)
    expect(await other.next()).toBeNull()
  })

  it('refuses a certificate without a DNS name', async () => {
    const { node, figures } = await tlsNode(authority().caFile)
    // It only has a subject name.
    const peer = await openTls(node.tlsPort, credentialsOf(authority().issue(HOST)))
    expect(await peer.introduce()).toBe(3010)
    const counted = await figures('tollgate_diameter_peers_refused_total')
    expect(counted).toEqual(['cause=certificate: 1'])
  })

  it('refuses certificates of another authority, and peers without one', async () => {
    const { node, requests, lines } = await tlsNode(authority().caFile)
    const foreign = createAuthority().issue('client', HOST)
    for (const options of [credentialsOf(foreign), {}]) {
      const peer = await openTls(node.tlsPort, options)
      peer.send(cer(), ccr(1))
      expect(await peer.next()).toBeNull()
      await peer.closed
    }
    await waitUntil('the log', () => lines.length === 2)
    expect(lines.map(({ text }) => text)).toEqual(
      Array(2).fill('a Diameter peer is refused by TLS'),
    )
    expect(requests).toEqual([])
  })

  it('limits handshakes to the time for a CER, and survives garbage', async () => {
    const { node } = await tlsNode()
    const silent = connectTcp({ port: node.tlsPort, host: '127.0.0.1' })
    const isClosed = new Promise((resolve) => silent.on('close', resolve))
    silent.on('error', () => undefined)
    const garbage = await new Promise<void>((resolve) => {
      const socket = connectTcp({ port: node.tlsPort, host: '127.0.0.1' })
      socket.on('error', () => undefined)
      socket.on('close', () => resolve())
      socket.write(cer())
    })
    expect(garbage).toBeUndefined()
    await isClosed
    const peer = await openTls(node.tlsPort)
    expect(await peer.introduce()).toBe(2001)
  })

  it('does not delay a stopping node by open handshakes', async () => {
    const { node } = await nodeOf({
      settings: {
        answerTimeoutMs: 100,
        tls: { ...LIMITS, enabled: true, only: false, port: 0, ...server(), clientCaFile: '' },
      },
    })
    const silent = connectTcp({ port: node.tlsPort, host: '127.0.0.1' })
    silent.on('error', () => undefined)
    await new Promise((resolve) => silent.once('connect', resolve))
    await node.close()
  })

  it('does not start with unusable files, which are named without their content', () => {
    const { keyFile } = authority().issue('other', 'other.test')
    const good = { ...LIMITS, ...server(), clientCaFile: authority().caFile }
    expect(readTlsFiles('diameter.tls', good).ca).toHaveLength(1)
    expect(readTlsFiles('diameter.tls', { ...good, clientCaFile: '' }).ca).toBeUndefined()
    const nonsense = `${server().certFile}.nonsense`
    const cut = `${server().certFile}.cut`
    writeFileSync(cut, readFileSync(authority().caFile, 'utf8').replace(/\n[^-].*\n/, '\n'))
    const rows = [
      ...unusableFiles('diameter.tls', server(), keyFile),
      ...[nonsense, cut].map((clientCaFile) => {
        return {
          change: { clientCaFile },
          text: `diameter.tls.clientCaFile ${clientCaFile} has no certificate`,
        }
      }),
    ]
    for (const { change, text } of rows) {
      expect(() => readTlsFiles('diameter.tls', { ...good, ...change })).toThrow(text)
    }
  })
})
