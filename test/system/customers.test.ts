/**
 * The whole product with a customer system: `tollgate start` with embedded stores, the example of
 * examples/crm as a process that is killed and started again, and a mail server.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProduct, type Started } from '../support/cli/product.ts'
import { customerSettings } from '../support/external/example-crm.ts'
import { type MailServer, startMailServer } from '../support/mail-server.ts'
import { choosePort } from '../support/product/ports.ts'
import { type Fields, post, type Reply } from '../support/system/exchange.ts'
import { waitUntil } from '../support/wait.ts'

const CRM = fileURLToPath(new URL('../../examples/crm/crm.mjs', import.meta.url))
const KEY = '202606'
const MIB = 1024 * 1024
const ALWAYS = { from: '2026-01-01 00:00:00', to: '2170-01-01 00:00:00' }

const folder = mkdtempSync(join(tmpdir(), 'tg-customers-'))
let mail: MailServer
let product: ReturnType<typeof createProduct>
let tollgate: Started
let crm: ExampleProcess

/** Longer than the time without calls after failures, and than the lease of an e-mail. */
const LONG_POLL = { timeout: 120_000 }
const NOT_CALLED = 'customer system: it is not called, because its last calls failed'

/** An account and its subscriber, whose number ends in 1. */
const customer = (aid: number, more: Fields = {}): Fields[] => {
  const common = { aid, ...ALWAYS, firstname: 'Ada', lastname: `Byron ${aid}` }
  const email = { email: `a${aid}@example.org`, invoice_shipping_method: 'email' }
  const sid = 10 * aid + 1
  const plan = { plan: 'DEMO_PREPAID', plan_activation: ALWAYS.from, msisdn: `44770090${sid}` }
  return [
    { ...common, type: 'account', ...email },
    { ...common, type: 'subscriber', sid, ...plan, ...more },
  ]
}

/** `more`: fields of subscribers, by account. */
const all = (more: Readonly<Record<number, Fields>> = {}): Fields[] =>
  [17, 18, 19].flatMap((aid) => customer(aid, more[aid]))

interface ExampleProcess {
  readonly url: string
  /** With these revisions. */
  start(revisions: readonly Fields[]): Promise<void>
  kill(): Promise<void>
}

async function exampleProcess(): Promise<ExampleProcess> {
  const port = await choosePort()
  const file = join(folder, 'customers.json')
  let child: ChildProcess | null = null
  return {
    url: `http://127.0.0.1:${port}`,
    async start(revisions) {
      writeFileSync(file, JSON.stringify(revisions))
      const env = { PATH: process.env['PATH'], TZ: 'UTC' }
      const started = spawn(process.execPath, [CRM, file, String(port)], { env })
      child = started
      await once(started.stdout, 'data')
    },
    async kill() {
      if (child === null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      child = null
      await ended
    },
  }
}

beforeAll(async () => {
  mail = await startMailServer()
  crm = await exampleProcess()
  await crm.start(all())
  product = createProduct({
    TOLLGATE_EXTERNAL_PRIVATE_RANGES: '127.0.0.0/8',
    TOLLGATE_CLOCK: '2026-05-15T12:00:00Z',
    TOLLGATE_CLOCK_TEST: 'true',
    TOLLGATE_MAIL_URL: mail.url,
    TOLLGATE_MAIL_TIMEOUT_MS: '60000',
    TOLLGATE_MAIL_FROM: 'Billing <billing@example.org>',
  })
  tollgate = await product.start()
  await set(customerSettings(crm.url))
  await waitUntil('it is asked', async () => (await health())['customers'] === 'ok')
})
afterAll(async () => {
  await product?.close()
  await crm?.kill()
  await mail?.close()
  rmSync(folder, { recursive: true, force: true })
})

async function api(action: string, params: Record<string, string>): Promise<Fields> {
  const body = new URLSearchParams(params)
  const answer = await fetch(`${tollgate.admin}/api/${action}`, { method: 'POST', body })
  return (await answer.json()) as Fields
}

async function set(value: Fields): Promise<void> {
  const params = { action: 'set', category: 'subscribers', data: JSON.stringify(value) }
  expect(await api('settings', params)).toMatchObject({ status: 1 })
}

async function health(): Promise<Fields> {
  return (await (await fetch(`${tollgate.admin}/health/ready`)).json()) as Fields
}

async function run(...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await product.run(...args)
  expect(code, stdout + stderr).toBe(0)
  return stdout
}

/** Requests of a session of its own. */
function session(sid: number, name: string) {
  const port = Number(new URL(tollgate.realtime).port)
  const common = { session_id: name, sid, usaget: 'data', rating_group: 10 }
  const send = (more: Fields) => post(port, { ...common, ...more })
  return {
    open: () => send({ record_type: 'start_request', request_num: 0, usagev: MIB }),
    update: () =>
      send({ record_type: 'update_request', request_num: 1, usagev: MIB, used_usagev: MIB }),
    release: () => send({ record_type: 'release_request', request_num: 2, used_usagev: MIB }),
  }
}

let opened = 0
function open(sid: number): Promise<Reply> {
  opened += 1
  return session(sid, `session-${opened}`).open()
}

const GRANTED = { status: 200, returnCode: 1, grantedVolume: MIB }
const OUTAGE = { status: 503, returnCode: -91 }

async function free(sid: number): Promise<number> {
  const shown = JSON.parse(await run('balance', 'show', '--sid', String(sid), '--json'))
  return (shown as { buckets: { free: number }[] }).buckets[0]?.free ?? Number.NaN
}

describe('with a customer system', () => {
  it('its subscribers get credit over the API and the command line, and are charged', async () => {
    for (const sid of [171, 181, 191]) {
      const add = ['balance', 'add', '--sid', String(sid), '--include', '1', '--amount', '10']
      expect(await run(...add)).toContain(`subscriber ${sid}, include 1: 0 GBP -> 10 GBP (10 GBP)`)
    }
    const load = { sid: 171, pp_includes_external_id: 1 }
    const sent = { query: JSON.stringify(load), update: JSON.stringify({ value: -5 }) }
    const url = `${tollgate.admin}/billapi/balances/update`
    const answer = await fetch(url, { method: 'POST', body: new URLSearchParams(sent) })
    expect(await answer.json()).toMatchObject({ status: 1, entity: { aid: 17, sid: 171 } })
    const { open, update, release } = session(171, 'whole')
    expect(await open()).toMatchObject(GRANTED)
    expect(await update()).toMatchObject(GRANTED)
    expect(await release()).toMatchObject({ status: 200, returnCode: 1 })
    expect(await free(171)).toBe(14.996)
  })

  it('that is killed: known subscribers are charged, unknown ones get an outage', async () => {
    const running = session(171, 'across')
    expect(await running.open()).toMatchObject(GRANTED)
    await crm.kill()
    expect(await running.update()).toMatchObject(GRANTED)
    expect(await open(171)).toMatchObject(GRANTED)
    const unknown = await open(191)
    expect(unknown).toMatchObject(OUTAGE)
    expect(unknown.desc).toContain('customer system: it cannot be reached (ECONNREFUSED)')
    expect(await running.release()).toMatchObject({ status: 200, returnCode: 1 })
    // After several failures it is not called any more, which health says.
    await expect.poll(() => open(191)).toMatchObject({ desc: expect.stringContaining(NOT_CALLED) })
    await expect.poll(health).toMatchObject({ status: 'ready', customers: 'unavailable' })
    expect(await open(171)).toMatchObject(GRANTED)
  })

  it('that is back: it is asked again by itself', async () => {
    await crm.start(all())
    await expect.poll(() => open(191), LONG_POLL).toMatchObject(GRANTED)
    await expect.poll(health).toMatchObject({ customers: 'ok' })
    // Two whole sessions of 2 MiB, and two open ones of one.
    expect(await free(171)).toBe(14.988)
  })

  it('that has changed a customer: it counts once that is announced', async () => {
    await crm.kill()
    await crm.start(all({ 17: { barred: true } }))
    expect(await open(171)).toMatchObject(GRANTED)
    const dropped = { details: { dropped: 'subscriber' } }
    expect(await api('clearcache', { aid: '17', sid: '171' })).toMatchObject(dropped)
    const refused = await open(171)
    expect([refused.status, refused.desc]).toEqual([200, expect.stringMatching(/barred/i)])
    await crm.kill()
    await crm.start(all())
    await api('clearcache', {})
    expect(await open(171)).toMatchObject(GRANTED)
  })

  it('has its invoices computed; they are confirmed and sent without it', async () => {
    const account = { cache_gba_to_gsd: { enabled: true } }
    await set(customerSettings(crm.url, { account }))
    for (const aid of ['17', '18', '19']) {
      const fee = { rate: 'SMS', credit_time: '2026-05-20', usagev: '1', aprice: '15' }
      const credit = { ...fee, aid, sid: `${aid}1`, reason: 'test' }
      expect(await api('credit', credit)).toMatchObject({ status: 1 })
    }
    await run('clock', '--to', '2026-06-01T01:00:00Z')
    const ran = await run('cycle', 'run', '--key', KEY)
    expect(ran).toContain(`cycle ${KEY} finished: accounts 3, invoices 3`)
    await crm.kill()
    const confirmed = await run('cycle', 'confirm', '--key', KEY)
    expect(confirmed).toContain('confirmed 3')
    // The control plane sends those that the command had no time for, when their lease is over.
    await expect.poll(() => mail.messages.length, LONG_POLL).toBe(3)
    for (const aid of [17, 18, 19]) {
      const message = mail.messages.find((each) => each.includes(`a${aid}@example.org`))
      expect(message).toContain('Content-Type: application/pdf')
    }
    const bills = await api('bill', { action: 'get_balances', aids: '17,18,19' })
    expect(bills).toMatchObject({ details: { 17: { total: '18.00' }, 19: { total: '18.00' } } })
  })

  it('is not asked for subscribers that the cycle has brought, until a change', async () => {
    expect(await open(181)).toMatchObject(GRANTED)
    expect(await api('clearcache', { aid: '18' })).toMatchObject({
      details: { dropped: 'account' },
    })
    expect(await open(181)).toMatchObject(OUTAGE)
    await crm.start(all())
    await expect.poll(() => open(181), LONG_POLL).toMatchObject(GRANTED)
  })

  it('has all its units and books accounted for', async () => {
    expect(await run('audit')).toContain('every unit is accounted for')
  })
})
