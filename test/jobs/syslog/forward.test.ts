/** Audit records reach a syslog receiver over TLS, each at least once and in order. */
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { createServer, type Server, type TLSSocket } from 'node:tls'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createAudit } from '../../../src/catalog/audit/audit.ts'
import type { Config } from '../../../src/config/schema.ts'
import { type JobRunner, startJobRunner } from '../../../src/jobs/runner.ts'
import { beginForwarding, forwardHandler } from '../../../src/jobs/syslog/forward.ts'
import {
  type Authority,
  createAuthority,
  HAS_OPENSSL,
} from '../../support/realtime/diameter/certificates.ts'
import { silent, startTestStores, type TestStores } from '../../support/recorder/accounts.ts'

const ACTOR = { by: 'session', id: 'u1', name: 'Zoë', address: '192.0.2.1' } as const

/** Reads octet-counted frames (RFC 5425). */
class Receiver {
  readonly messages: string[] = []
  /**
   * Whether it resets connections. One that is closed later, on a busy machine after everything was
   * sent and read, looks like success: the protocol has no acknowledgements.
   */
  isBroken = false
  connections = 0
  readonly #server: Server

  constructor(files: { certFile: string; keyFile: string }, clientCa?: string) {
    const options = { cert: readFileSync(files.certFile), key: readFileSync(files.keyFile) }
    const asking = { requestCert: true, rejectUnauthorized: true }
    const more = clientCa === undefined ? {} : { ca: readFileSync(clientCa), ...asking }
    this.#server = createServer({ ...options, ...more }, (socket) => this.#take(socket))
    this.#server.on('connection', (socket) => this.isBroken && socket.resetAndDestroy())
    this.#server.on('tlsClientError', () => undefined)
  }

  async listen(port = 0): Promise<number> {
    this.#server.listen(port, '127.0.0.1')
    await once(this.#server, 'listening')
    return (this.#server.address() as { port: number }).port
  }

  async close(): Promise<void> {
    this.#server.close()
    await once(this.#server, 'close')
  }

  #take(socket: TLSSocket): void {
    this.connections += 1
    socket.on('error', () => undefined)
    let left = Buffer.alloc(0)
    socket.on('data', (bytes: Buffer) => {
      left = Buffer.concat([left, bytes])
      for (;;) {
        const blank = left.indexOf(' ')
        const length = Number(left.subarray(0, Math.max(0, blank)).toString())
        if (blank < 1 || left.length < blank + 1 + length) return
        this.messages.push(left.subarray(blank + 1, blank + 1 + length).toString())
        left = left.subarray(blank + 1 + length)
      }
    })
  }
}

describe.skipIf(!HAS_OPENSSL)('the audit over syslog', () => {
  let open: TestStores
  let authority: Authority
  let nowMs = Date.UTC(2026, 5, 15)
  const clock = { nowMs: () => nowMs }
  const runners: JobRunner[] = []

  beforeAll(async () => {
    open = await startTestStores()
    authority = createAuthority()
  })
  afterEach(async () => {
    for (const runner of runners.splice(0)) await runner.stop()
    await open.catalog.jobs.deleteMany({})
    await open.catalog.auditchain.deleteMany({ _id: 'syslog' })
  })
  afterAll(() => open.close())

  async function forward(port: number, more: Partial<Config['audit']['syslog']> = {}) {
    const tls = { caFile: authority.caFile, certFile: '', keyFile: '' }
    const syslog = { host: 'localhost', port, ...tls, facility: 13, ...more }
    const jobs = { pollMs: 5, retryMs: 30_000 }
    const config = { audit: { keepDays: 0, reads: [], syslog }, jobs }
    const { catalog } = open
    await beginForwarding({ catalog, clock, config })
    const parts = {
      catalog: { ...catalog },
      clock,
      config,
      metrics: { auditSent: () => undefined },
    }
    const handlers = { syslog: forwardHandler(parts) }
    runners.push(startJobRunner({ catalog, clock, config, log: silent, handlers }))
  }

  const write = (key: string, fields: object = { name: 'Zoë' }) =>
    createAudit(open.catalog).record(ACTOR, nowMs, {
      collection: 'plans',
      type: 'update',
      key,
      old: null,
      new: fields,
    })
  const jsonOf = (message: string) => JSON.parse(message.slice(message.indexOf('] ') + 2))
  const keysOf = (messages: readonly string[]) => messages.map((one) => jsonOf(one).key)

  it('has all records in order, in the form of RFC 5424', async () => {
    for (let index = 0; index < 250; index += 1) await write(String(index))
    const receiver = new Receiver(authority.issue('log', 'localhost'))
    await forward(await receiver.listen())
    await expect.poll(() => receiver.messages.length, { timeout: 30_000 }).toBe(250)
    expect(keysOf(receiver.messages)).toEqual(Array.from({ length: 250 }, (_, at) => String(at)))
    const [first = ''] = receiver.messages
    expect(first).toMatch(/^<110>1 2026-06-15T00:00:00\.000Z \S+ tollgate - audit \[/)
    const data = /\[tollgate@32473 seq="1" prev="0{64}" hash="[0-9a-f]{64}"\] \{[\x20-\x7e]+\}$/
    expect(first).toMatch(data)
    const [stored] = await open.catalog.audit.find({ key: '0' }).toArray()
    const { seq, prev, hash } = stored?.chain ?? {}
    expect(jsonOf(first)).toMatchObject({ new: { name: 'Zoë' }, chain: { seq, prev, hash } })
    expect(first).not.toContain(stored?.chain?.salt)
    // Later records follow by themselves.
    await write('later')
    nowMs += 10_000
    await expect.poll(() => keysOf(receiver.messages).at(-1), { timeout: 30_000 }).toBe('later')
    expect(receiver.messages).toHaveLength(251)
    await receiver.close()
  })

  it('is sent again where the receiver disconnected, and resumes there', async () => {
    await open.catalog.auditchain.updateOne(
      { _id: 'syslog' },
      { $set: { seq: 251, hash: '' } },
      { upsert: true },
    )
    await write('broken')
    const receiver = new Receiver(authority.issue('log2', 'localhost'))
    receiver.isBroken = true
    const port = await receiver.listen()
    await forward(port)
    await expect
      .poll(async () => (await open.catalog.jobs.findOne({ kind: 'syslog' }))?.error, {
        timeout: 30_000,
      })
      .toContain(`syslog receiver localhost:${port}`)
    expect(receiver.messages).toEqual([])
    receiver.isBroken = false
    nowMs += 60_000
    await expect.poll(() => keysOf(receiver.messages), { timeout: 30_000 }).toEqual(['broken'])
    await receiver.close()
  })

  it('presents a client certificate, and is not sent to an unknown receiver', async () => {
    const files = authority.issue('node')
    const receiver = new Receiver(authority.issue('log3', 'localhost'), authority.caFile)
    const port = await receiver.listen()
    await forward(port, { ...files, caFile: createAuthority().caFile })
    const failure = async () => (await open.catalog.jobs.findOne({ kind: 'syslog' }))?.error ?? ''
    await expect.poll(failure, { timeout: 30_000 }).toContain('certificate')
    expect(receiver.messages).toEqual([])
    for (const runner of runners.splice(0)) await runner.stop()
    nowMs += 60_000
    await forward(port, files)
    await expect.poll(() => receiver.messages.length, { timeout: 30_000 }).toBeGreaterThan(200)
    await receiver.close()
  })
})
