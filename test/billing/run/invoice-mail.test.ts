/** E-mails of confirmed invoices, with a real mail server. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { afterEach, describe, expect, it } from 'vitest'
import { type ConfirmDeps, confirmInvoices } from '../../../src/billing/run/confirm.ts'
import { MAIL_KIND, mailHandler } from '../../../src/billing/run/invoice-mail.ts'
import { enqueueOutbox } from '../../../src/catalog/transactions/outbox.ts'
import { loadConfig } from '../../../src/config/load.ts'
import type { Config } from '../../../src/config/schema.ts'
import { closeMail } from '../../../src/external/mail.ts'
import { createLogger } from '../../../src/runtime/log.ts'
import { ACTOR } from '../../support/billing/books.ts'
import { cycleOf, KEY, useCycle } from '../../support/billing/cycle-fixture.ts'
import { inlineDocuments } from '../../support/billing/invoices.ts'
import { runReal } from '../../support/billing/real-cycle.ts'
import { type MailServer, startMailServer } from '../../support/mail-server.ts'

const cycle = useCycle()

const servers: MailServer[] = []
afterEach(async () => {
  closeMail()
  for (const server of servers.splice(0)) await server.close()
})

const using = (config: Config) => {
  return { config, documents: inlineDocuments({ catalog: cycle.catalog(), config }) }
}

async function confirmWith(url: string): Promise<ConfirmDeps> {
  const deps = { ...cycle.deps(), ...using(loadConfig({ env: settings(url) })) }
  const log = createLogger({ name: 'test', level: 'silent' })
  const catalog = cycle.catalog()
  catalog.dispatcher.register({ [MAIL_KIND]: mailHandler(deps) }, log)
  await confirmInvoices(deps, { cycle: cycleOf(), invoices: null, actor: ACTOR })
  return deps
}

const settings = (url: string, code = 978) => ({
  TOLLGATE_MAIL_URL: url,
  TOLLGATE_MAIL_FROM: 'Billing <billing@example.org>',
  TOLLGATE_MAIL_TIMEOUT_MS: '60000',
  TOLLGATE_RATING_CURRENCY_CODE: String(code),
})

/** The attached file of a message. */
function pdfIn(message: string): Buffer {
  const name =
    /Content-Disposition: attachment; filename=invoice-101\.pdf\r\n\r\n([A-Za-z0-9+/=\r\n]+)/
  const [, base64 = ''] = name.exec(message) ?? []
  expect(message).toContain('Content-Type: application/pdf')
  return Buffer.from(base64, 'base64')
}

/**
 * The messages that a server has: a confirmation waits only a few seconds for them, which a busy
 * machine needs for the documents.
 */
async function received({ messages }: MailServer, count: number): Promise<string[]> {
  await expect.poll(() => messages).toHaveLength(count)
  return messages
}

const outbox = () => cycle.catalog().outbox.find({ kind: MAIL_KIND }).toArray()

describe('a confirmed invoice', () => {
  it('is sent to the customer, once', async () => {
    const server = await startMailServer()
    servers.push(server)
    await cycle.addAccounts(2)
    await cycle.run()
    await confirmWith(server.url)
    const messages = await received(server, 2)
    const [first = ''] = messages.sort((a, b) => a.indexOf('101') - b.indexOf('101'))
    const all = messages.join('\n')
    expect(all).toContain('To: Dana Levi 1 <a1@example.org>')
    expect(all).toContain('From: Billing <billing@example.org>')
    expect(all).toContain('Subject: Invoice 101')
    expect(all).toContain('Amount: 10.01')
    expect(all).toContain('Due: 2026-06-15')
    expect(first).toContain('Message-ID: <invoice-')
    await expect.poll(outbox).toEqual([])
    expect(messages).toHaveLength(2)
  })

  it.each([
    ['10.50 EUR', 978, 10.5],
    ['101 JPY', 392, 100.5],
    ['10.006 KWD', 414, 10.0055],
  ])('has its PDF, and the amount in the currency: %s', async (amount, code, price) => {
    const server = await startMailServer()
    servers.push(server)
    const { confirm } = await runReal(cycle, price, settings(server.url, code))
    await confirm()
    const [message = ''] = await received(server, 1)
    expect(message).toContain(`Amount: ${amount}\r\n`)
    expect(pdfIn(message).subarray(0, 5).toString()).toBe('%PDF-')
  })

  it('is the file that is kept', async () => {
    const server = await startMailServer()
    servers.push(server)
    const folder = mkdtempSync(join(tmpdir(), 'tg-mail-'))
    const files = { TOLLGATE_INVOICES_FOLDER: folder, TOLLGATE_INVOICES_FILES: 'at_confirmation' }
    try {
      await (await runReal(cycle, 10, { ...settings(server.url), ...files })).confirm()
      const kept = readFileSync(join(folder, KEY, '001', '1-101.pdf'))
      const [message = ''] = await received(server, 1)
      expect(pdfIn(message).equals(kept)).toBe(true)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  it('is sent later if its document cannot be made, and the reason is kept', async () => {
    const server = await startMailServer()
    servers.push(server)
    const { confirm, deps, logged } = await runReal(cycle, 10, settings(server.url))
    const { catalog } = deps
    catalog.dispatcher.register({ [MAIL_KIND]: mailHandler(deps) }, deps.log)
    const charged = { source: 'billrun' } as never
    const setPrice = (aprice: string) =>
      catalog.lines.updateOne(charged, { $set: { 'exact.aprice': aprice } } as never)
    await setPrice('9')
    expect(await confirm()).toMatchObject({ confirmed: 1, refused: [] })
    const reason =
      'the e-mail of invoice 101 has no PDF: invoice 101: its lines differ from its total by -1 EUR'
    const failed = [{ failures: 1, error: `${MAIL_KIND}: ${reason}` }]
    await expect.poll(outbox).toMatchObject(failed)
    expect(server.messages).toEqual([])
    expect(logged.join('')).toContain(reason)
    await setPrice('10')
    await catalog.outbox.updateMany({}, { $set: { expires: new Date(0) } })
    await catalog.dispatcher.recover()
    expect(server.messages).toHaveLength(1)
  })

  it('is not sent without an address, or if the customer wants none', async () => {
    const server = await startMailServer()
    servers.push(server)
    await cycle.addAccounts(3, (aid) =>
      aid === 1 ? { email: '' } : aid === 2 ? { invoice_shipping_method: 'post' } : {},
    )
    await cycle.run()
    await confirmWith(server.url)
    await received(server, 1)
    await expect.poll(outbox).toEqual([])
    expect(server.messages).toHaveLength(1)
  })

  it('is sent later if the mail server is not there, or refuses', async () => {
    let accepts = false
    const server = await startMailServer({ accepts: () => accepts })
    servers.push(server)
    await cycle.addAccounts(1)
    await cycle.run()
    await confirmWith(server.url)
    expect(await cycle.catalog().billrun.findOne({ billrun_key: KEY })).toMatchObject({ billed: 1 })
    await expect.poll(outbox).toMatchObject([{ failures: 1, holder: null }])
    expect(server.messages).toEqual([])
    accepts = true
    await cycle.catalog().outbox.updateMany({}, { $set: { expires: new Date(0) } })
    await cycle.catalog().dispatcher.recover()
    await cycle.catalog().dispatcher.flush()
    expect(server.messages).toHaveLength(1)
    expect(await outbox()).toEqual([])
  })

  it('is not sent without a mail server in the configuration', async () => {
    await cycle.addAccounts(1)
    await cycle.run()
    await confirmWith('')
    expect(await outbox()).toEqual([])
  })
})

/** Accepts connections and says nothing. */
async function startSilentServer(): Promise<{
  readonly url: string
  readonly connected: () => number
  close(): Promise<void>
}> {
  const sockets = new Set<Socket>()
  let connected = 0
  const server = createServer((socket) => {
    connected += 1
    sockets.add(socket)
    socket.on('error', () => undefined)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    connected: () => connected,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('a mail server that does not answer', () => {
  it('delays neither the confirmation nor other entries of the outbox', async () => {
    const server = await startSilentServer()
    const env = { ...settings(server.url), TOLLGATE_MAIL_TIMEOUT_MS: '300000' }
    const catalog = cycle.catalog()
    const deps = { ...cycle.deps(), ...using(loadConfig({ env })) }
    const log = createLogger({ name: 'test', level: 'silent' })
    const done: unknown[] = []
    catalog.dispatcher.register({ [MAIL_KIND]: mailHandler(deps) }, log)
    await cycle.addAccounts(45)
    await cycle.run()
    const order = { cycle: cycleOf(), invoices: null, actor: ACTOR }
    expect(await confirmInvoices(deps, order)).toMatchObject({ confirmed: 45, refused: [] })
    expect(await outbox()).toHaveLength(45)
    // Stored for a process that executes such entries, behind all e-mails.
    await catalog.transaction('store an entry', async (session) => {
      enqueueOutbox(session, { kind: 'other', payload: { number: 1 } })
    })
    catalog.dispatcher.register({ other: async (payload) => void done.push(payload) }, log)
    const runner = catalog.dispatcher.start()
    await expect.poll(() => done).toEqual([{ number: 1 }])
    expect(runner.hasRun()).toBe(true)
    // E-mails are tried meanwhile, a few at once.
    await expect.poll(server.connected).toBeGreaterThanOrEqual(5)
    await runner.stop()
    await server.close()
  })

  it('makes an e-mail fail after a time, and it is sent by another server later', async () => {
    const server = await startSilentServer()
    const env = { ...settings(server.url), TOLLGATE_MAIL_TIMEOUT_MS: '100' }
    await cycle.addAccounts(1)
    await cycle.run()
    const catalog = cycle.catalog()
    const log = createLogger({ name: 'test', level: 'silent' })
    const deps = { ...cycle.deps(), ...using(loadConfig({ env })) }
    catalog.dispatcher.register({ [MAIL_KIND]: mailHandler(deps) }, log)
    await confirmInvoices(deps, { cycle: cycleOf(), invoices: null, actor: ACTOR })
    await expect.poll(outbox).toMatchObject([{ failures: 1, holder: null }])
    await server.close()
    closeMail()
    const working = await startMailServer()
    servers.push(working)
    const config = loadConfig({ env: settings(working.url) })
    catalog.dispatcher.register({ [MAIL_KIND]: mailHandler({ catalog, ...using(config) }) }, log)
    await catalog.outbox.updateMany({}, { $set: { expires: new Date(0) } })
    expect(await catalog.dispatcher.recover()).toBe(1)
    expect(working.messages).toHaveLength(1)
  })
})

/** Greets, and then answers each command byte by byte: no timeout of a socket ends it. */
async function startDrippingServer(): Promise<{ readonly url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.write('220 mail.example.org\r\n')
    const timer = setInterval(() => socket.write('2'), 20)
    socket.on('error', () => undefined).on('close', () => clearInterval(timer))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `smtp://127.0.0.1:${port}`,
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

describe('a mail server that answers byte by byte', () => {
  it('is given up after the time limit', async () => {
    const server = await startDrippingServer()
    await cycle.addAccounts(1)
    await cycle.run()
    const env = { ...settings(server.url), TOLLGATE_MAIL_TIMEOUT_MS: '200' }
    const { config, documents } = using(loadConfig({ env }))
    const opened: Readable[] = []
    const watched = {
      ...documents,
      documentOf: async (...args: Parameters<typeof documents.documentOf>) => {
        const file = await documents.documentOf(...args)
        opened.push(file.bytes)
        return file
      },
    }
    const deps = { ...cycle.deps(), config, documents: watched }
    const catalog = cycle.catalog()
    const log = createLogger({ name: 'test', level: 'silent' })
    catalog.dispatcher.register({ [MAIL_KIND]: mailHandler(deps) }, log)
    await confirmInvoices(deps, { cycle: cycleOf(), invoices: null, actor: ACTOR })
    await expect.poll(outbox).toMatchObject([{ failures: 1 }])
    expect(opened).not.toHaveLength(0)
    expect(opened.filter(({ destroyed }) => !destroyed)).toEqual([])
    await server.close()
  })
})
