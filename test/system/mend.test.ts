/** Redis comes back without its last writes, which are on record: the differences, and the mend. */
import { readdirSync, readFileSync, statSync, truncateSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createProduct, type Product, type Started } from '../support/cli/product.ts'
import { populate } from '../support/product/population.ts'
import { ROOT } from '../support/product/product.ts'
import { ClientLedger } from '../support/system/client-ledger.ts'
import { linesOf, POPULATION, portOf, spentOf, storesOf } from '../support/system/client-stores.ts'
import { waitUntil } from '../support/wait.ts'

const CLIENTS = 8

let product: Product
let tollgate: Started
let clientLedger: ClientLedger

beforeAll(async () => {
  product = createProduct()
  tollgate = await product.start()
  clientLedger = new ClientLedger({
    name: 'lost',
    clients: CLIENTS,
    subscribers: POPULATION.subscribers,
  })
  await populate({ ...storesOf(product), ...POPULATION })
  await charge(300)
  await untilEven()
  const sizeBytes = statSync(logFile()).size
  // Redis will lose everything from here on: usage of each subscriber, too.
  await charge(REQUESTS_OF_ALL)
  const added = await product.run('balance', 'add', ...TOP_UP)
  expect(added.code).toBe(0)
  await untilEven()
  await stop()
  truncateSync(logFile(), sizeBytes)
  tollgate = await product.start()
})
afterAll(() => product?.close())

/** A client has eight requests a session, and sessions use the subscribers in turn. */
const REQUESTS_OF_ALL = 8 * (POPULATION.subscribers + 2 * CLIENTS)

const FIRST = ['--sid', '100001']
const TOP_UP = [...FIRST, '--include', '2', '--amount', '4242', '--operation-id', 'top-up-1']

function logFile(): string {
  const folder = join(product.dataDir, 'redis-data', 'appendonlydir')
  const name = readdirSync(folder).find((file) => file.endsWith('.incr.aof')) ?? ''
  return join(folder, name)
}

/** Charges until this many more requests are acknowledged; sessions stay open. */
async function charge(requests: number): Promise<void> {
  const enough = clientLedger.acknowledged + requests
  const load = clientLedger.run(portOf(tollgate))
  await waitUntil('it is charged', () => clientLedger.acknowledged >= enough)
  clientLedger.stop()
  await load
}

async function untilEven(): Promise<void> {
  await waitUntil('the audit is clean', async () => (await product.run('audit')).code === 0)
}

async function stop(): Promise<void> {
  tollgate.signal('SIGTERM')
  expect((await tollgate.ended).code).toBe(0)
}

const spent = async () =>
  [...(await spentOf(storesOf(product)))].filter(([sid]) =>
    clientLedger.usedBySubscriber().has(sid),
  )

describe('after Redis has lost its last writes', () => {
  it('the audit fails, and --explain names sessions, lines and operations', async () => {
    expect(await spent()).not.toEqual([...clientLedger.usedBySubscriber()])
    const plain = await product.run('audit')
    expect(plain.code).toBe(1)
    const { code, stdout } = await product.run('audit', '--explain')
    expect(code).toBe(1)
    for (const line of documented()) expect(stdout).toMatch(line)
    expect(stdout).not.toContain('not mended')
  })

  it('--mend --dry-run shows the same, and changes nothing', async () => {
    const before = await spent()
    const [explained, dry] = [
      await product.run('audit', '--explain'),
      await product.run('audit', '--mend', '--dry-run'),
    ]
    expect(dry).toEqual(explained)
    expect(await spent()).toEqual(before)
  })

  it('--mend settles the differences by recorded operations, once', async () => {
    const { code, stdout, stderr } = await product.run('audit', '--mend')
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
    expect(stdout).toContain('account 1001: mended')
    expect(stdout).toMatch(/every unit is accounted for\n$/)
    expect(await spent()).toEqual([...clientLedger.usedBySubscriber()])
    const again = await product.run('audit', '--mend')
    expect(again.code).toBe(0)
    expect(again.stdout).not.toContain('mended')
    expect(await recorded()).toMatch(/"operation":"mend"/)
  })

  it('a lost operation may be repeated, and moves nothing', async () => {
    const before = await product.run('balance', 'show', ...FIRST, '--json')
    expect((await product.run('balance', 'add', ...TOP_UP)).code).toBe(0)
    expect((await product.run('balance', 'show', ...FIRST, '--json')).stdout).toBe(before.stdout)
  })

  it('open sessions continue, and their usage adds up', async () => {
    await clientLedger.finish(portOf(tollgate))
    // Sessions opened by the lost writes are now unknown.
    expect(clientLedger.complaints.every((text) => text.endsWith(': -7'))).toBe(true)
    await untilEven()
    expect(await spent()).toEqual([...clientLedger.usedBySubscriber()])
    const lines = await linesOf(storesOf(product))
    expect(lines.length).toBeGreaterThan(0)
    await stop()
  })
})

/** The example output in docs/OPERATING.md, line by line, with any numbers and times. */
function documented(): RegExp[] {
  const text = readFileSync(join(ROOT, 'docs/OPERATING.md'), 'utf8')
  const [, example = ''] = text.split('$ tollgate audit --explain\n')
  const lines = (example.split('```')[0] ?? '').trimEnd().split('\n')
  expect(lines.length).toBeGreaterThan(5)
  return lines.map((line) => {
    const escaped = line.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    const open = escaped.replace(/(?<=line )[^ ,:]+/g, '\\S+').replace(/20\d\d-[^ ]+Z/g, '\\S+Z')
    return new RegExp(`^${open.replace(/\d+/g, '\\d+')}$`, 'm')
  })
}

async function recorded(): Promise<string> {
  const query = encodeURIComponent('{"type":"balance"}')
  return (await fetch(`${tollgate.admin}/billapi/lines/get?query=${query}`)).text()
}
