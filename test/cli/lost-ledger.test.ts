import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createProduct, type Product, type Started, shell } from '../support/cli/product.ts'
import { waitUntil } from '../support/wait.ts'

let product: Product
let tollgate: Started

beforeAll(async () => {
  product = createProduct()
  tollgate = await product.start()
  for (const line of tollgate.curls) await shell(line)
  tollgate.signal('SIGTERM')
  await tollgate.ended
  rmSync(join(product.dataDir, 'redis-data'), { recursive: true })
  tollgate = await product.start()
})
afterAll(() => product?.close())

const show = () => product.run('balance', 'show', '--sid', '1001', '--json')
const ready = async () => (await fetch(`${tollgate.admin}/health/ready`)).status

it('start on a data folder whose ledger is lost names the command to run', async () => {
  expect(tollgate.output()).toContain('REDIS HAS LOST THE LEDGER')
  expect(tollgate.output()).toContain('tollgate -- ledger rebuild')
  const log = () => readFileSync(join(product.dataDir, 'logs', 'realtime.log'), 'utf8')
  await waitUntil('it is in the log', () => log().includes('`tollgate ledger rebuild`'))
  expect(JSON.parse(await shell(tollgate.curls[0]!))).toMatchObject({ returnCode: -91 })
  expect(await ready()).toBe(503)
  const message = "tollgate: redis has lost the ledger: run 'tollgate ledger rebuild'\n"
  expect(await show()).toEqual({ code: 1, stdout: '', stderr: message })
  expect(await product.run('seed', 'demo')).toMatchObject({ code: 0, stderr: '' })
})

it('a rebuild restores a running product, after a dry run that shows its effect', async () => {
  const rehearsed = await product.run('ledger', 'rebuild', '--dry-run')
  expect(rehearsed).toMatchObject({ code: 0, stderr: '' })
  const [account, ...rest] = rehearsed.stdout.trim().split('\n')
  expect(account).toMatch(/^account 1: owners 5, buckets \d+, lines \d+; money credited \d+/)
  expect(rest.at(-1)).toBe('nothing was written')
  expect(await ready()).toBe(503)
  const rebuilt = await product.run('ledger', 'rebuild')
  expect(rebuilt).toMatchObject({ code: 0, stderr: '' })
  expect(rebuilt.stdout).toMatch(/^1 accounts restored: .*\n.*is restored, epoch 2-/m)
  await waitUntil('it is ready again', async () => (await ready()) === 200)
  // The first request of a worker after the loss may be the one that detects it.
  const isGranted = async () => JSON.parse(await shell(tollgate.curls[0]!)).returnCode === 1
  await waitUntil('it charges again', isGranted)
  const { buckets } = JSON.parse((await show()).stdout)
  const pack = buckets.find(({ name }: { name: string }) => name === 'DATA_PACK')
  expect(pack).toMatchObject({ credited: 1024 * 1024 ** 2, spent: 11 * 1024 ** 2 })
})

it('a second rebuild is refused', async () => {
  const again = await product.run('ledger', 'rebuild')
  const stderr = 'tollgate: the ledger is there: nothing to rebuild\n'
  expect(again).toEqual({ code: 1, stdout: '', stderr })
  for (const line of tollgate.curls) await shell(line)
  expect(await product.run('audit')).toMatchObject({ code: 0, stderr: '' })
  tollgate.signal('SIGTERM')
  await tollgate.ended
  const ended = await product.run('ledger', 'rebuild')
  expect([ended.code, ended.stderr]).toEqual([1, expect.stringContaining('is not running in')])
})
