import { readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { prepaid, quoteCaseOf } from '../../support/billing/quote/case-builder.ts'
import { createProduct, type Product, type Started, shell } from '../../support/cli/product.ts'

let product: Product
let folder: string

beforeAll(async () => {
  product = createProduct()
  folder = await mkdtemp(join(tmpdir(), 'tg-quote-'))
})
afterAll(async () => {
  await product.close()
  await rm(folder, { recursive: true, force: true })
})

function fileOf(...lines: string[]): string {
  const path = join(folder, `${lines.length}.jsonl`)
  writeFileSync(path, lines.join('\n'))
  return path
}

const good = JSON.stringify(quoteCaseOf({ name: 'good', expect: [{ aprice: 0.61 }] }))
const bad = JSON.stringify(quoteCaseOf({ name: 'bad', expect: [{ aprice: 0.6 }] }))
const silent = JSON.stringify(prepaid(1, { name: 'silent' }))
const indented = (text: string) => JSON.stringify(JSON.parse(text), null, 2)

describe('tollgate quote --cases', () => {
  it('answers line by line without any store, and exits with 0 if all is as expected', async () => {
    const ended = await product.run('quote', '--cases', fileOf(good, '', silent, ''))
    expect([ended.code, ended.stderr]).toEqual([0, ''])
    const result = ended.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(result).toMatchObject([
      { name: 'good', results: [{ aprice: 0.61 }], ok: true },
      { name: 'silent', results: [{ granted: 61 }] },
    ])
    expect(result[1]).not.toHaveProperty('ok')
  })

  it('exits with 1 if a case is broken or not as expected, and answers the others', async () => {
    const { code, stdout, stderr } = await product.run('quote', '--cases', fileOf(bad, '{', good))
    expect([code, stderr]).toEqual([1, 'tollgate: 2 of 3 cases are broken or not as expected\n'])
    expect(
      stdout
        .trimEnd()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { name: 'bad', ok: false, mismatches: [{ event: 0, field: 'aprice' }] },
      { name: 'line 2', ok: false, error: { field: '' } },
      { name: 'good', ok: true },
    ])
  })

  it.each([
    ['an array', JSON.stringify([JSON.parse(good), JSON.parse(silent)]), ['good', 'silent']],
    ['an indented array', JSON.stringify([JSON.parse(good), {}], null, 2), ['good', 'case 2']],
    ['an indented case', `\n${indented(good)}\n`, ['good']],
    ['indented cases', `${indented(good)}\n${indented(silent)}`, ['good', 'silent']],
    ['arrays of some lines', `[${good},\n{}]\n[{}]`, ['good', 'case 2', 'case 3']],
    ['a broken first line', `{\n${good}`, ['line 1', 'good']],
    ['no case', '[]', []],
  ])('accepts %s', async (name, text, names) => {
    const path = join(folder, `${name}.json`)
    writeFileSync(path, text)
    const { stdout } = await product.run('quote', '--cases', path)
    const lines = stdout.split('\n').filter((line) => line !== '')
    expect(lines.map((line) => JSON.parse(line).name)).toEqual(names)
  })

  it('reads standard input', async () => {
    const bin = new URL('../../../bin/tollgate.mjs', import.meta.url).pathname
    const path = fileOf(good)
    const answer = await shell(`${process.execPath} ${bin} quote --cases - < ${path}`)
    expect(JSON.parse(answer)).toMatchObject({ name: 'good', ok: true })
  })

  it('stops when its output is closed', async () => {
    const bin = new URL('../../../bin/tollgate.mjs', import.meta.url).pathname
    const path = fileOf(...Array.from({ length: 5_000 }, () => good))
    const errors = join(folder, 'errors')
    const command = `${process.execPath} ${bin} quote --cases ${path} 2> ${errors} | head -n 1`
    expect(JSON.parse(await shell(command))).toMatchObject({ name: 'good' })
    expect(readFileSync(errors, 'utf8')).toBe('')
  })

  it('exits with 1 if the file cannot be read', async () => {
    const { code, stderr } = await product.run('quote', '--cases', join(folder, 'none'))
    expect(code).toBe(1)
    expect(stderr).toMatch(/^tollgate: cannot read .*none: ENOENT/)
  })

  it.each([
    [[], 'give --cases for a file of cases, or --sid for a subscriber'],
    [['--cases', 'x', '--sid', '1'], '--sid cannot be combined with --cases'],
    [['--sid', '1'], '--usagev is missing'],
    [['--sid', '1', '--usagev', '1.5'], '--usagev must be an integer from 1 to 2^53, not'],
    [['--sid', '1', '--usagev', '1'], '--usaget is missing'],
    [
      ['--sid', '1', '--usagev', '1', '--usaget', 'call', '--urt', 'noon'],
      "--urt must be a date, as in 2030-01-31 or ISO 8601, not 'noon'",
    ],
  ])('exits with 2 if the command line is invalid: %j', async (args, why) => {
    const { code, stderr } = await product.run('quote', ...args)
    expect([code, stderr]).toEqual([2, expect.stringContaining(why)])
  })
})

describe('tollgate quote --sid', () => {
  let tollgate: Started

  beforeAll(async () => {
    tollgate = await product.start()
  })

  const ask = ['quote', '--sid', '1001', '--usaget', 'data', '--usagev', '10485760']

  async function balances(): Promise<unknown> {
    const { stdout } = await product.run('balance', 'show', '--sid', '1001', '--json')
    return JSON.parse(stdout)
  }

  it('shows what charging would answer now, and moves nothing', async () => {
    const before = await balances()
    const { code, stdout, stderr } = await product.run(...ask, '--json')
    expect([code, stderr]).toEqual([0, ''])
    const result = JSON.parse(stdout)
    expect(result).toMatchObject({ granted: 10_485_760, returnCode: 1, rating: expect.anything() })
    expect(await balances()).toEqual(before)
    const body = JSON.stringify({
      record_type: 'start_request',
      session_id: 'quote-1',
      sid: 1001,
      usaget: 'data',
      request_num: 0,
      usagev: 10_485_760,
      pretend: true,
    })
    const url = `${tollgate.realtime}/realtime`
    const headers = { 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body })
    expect(await answer.json()).toMatchObject({
      grantedVolume: result.granted,
      aprice: result.aprice,
      rateKey: result.arate_key,
      rating: result.rating,
    })
  })

  it('prints a table for people', async () => {
    const { code, stdout } = await product.run(...ask)
    expect(code).toBe(0)
    expect(stdout).toMatch(/granted +10485760 of 10485760 data/)
    expect(stdout).toMatch(/price +\S+ GBP\n/)
    expect(stdout).toMatch(/paid by bucket \d+ \(include \d+\)/)
  })

  it('shows the action of an event rule that is in force', async () => {
    const store = async (events: object) => {
      const path = fileOf(JSON.stringify(events))
      expect(await product.run('settings', 'set', 'events', path)).toMatchObject({ code: 0 })
    }
    const quoted = async (action: object) => {
      const conditions = [{ type: 'reached_constant', value: -1000, path: 'balance.cost' }]
      const rule = { event_code: 'CAP', conditions, action: { ...action, usaget: ['data'] } }
      await store({ balance: [rule] })
      const table = await product.run(...ask)
      const { stdout } = await product.run(...ask, '--json')
      return { code: table.code, table: table.stdout, json: JSON.parse(stdout) }
    }
    expect(await quoted({ type: 'bar' })).toMatchObject({
      code: 1,
      table: 'data 10485760: denied (Spending cap is reached: CAP)\n',
      json: { returnCode: -15, granted: 0 },
    })
    const address = 'https://shop.example.net/cap'
    expect(await quoted({ type: 'redirect', address })).toMatchObject({
      code: 1,
      table: `data 10485760: redirected to ${address}\n`,
      json: { granted: 0, action: { type: 'redirect', address } },
    })
    expect(await quoted({ type: 'throttle', policy: 'SLOW' })).toMatchObject({
      code: 0,
      table: expect.stringMatching(/granted +10485760 of 10485760 data\n +policy +SLOW\n/),
      json: { granted: 10_485_760, action: { type: 'throttle', policy: 'SLOW' } },
    })
    await store({})
  })

  it('exits with 1 if nothing is granted, or the subscriber does not exist', async () => {
    const { code, stdout } = await product.run(...ask, '--rate', 'NONE')
    expect([code, stdout]).toEqual([1, 'data 10485760: denied (No rate, or rate is blocked)\n'])
    const nobody = await product.run('quote', '--sid', '7', '--usaget', 'data', '--usagev', '1')
    expect([nobody.code, nobody.stderr]).toEqual([
      1,
      expect.stringMatching(/^tollgate: there is no subscriber 7 at /),
    ])
  })
})
