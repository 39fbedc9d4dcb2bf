/**
 * README.md, "Manage customers and prices", and docs/TUTORIAL.md: their lines run in a shell as
 * they are.
 */
import { execFile } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOUSE } from '../house/tree.ts'
import type { Walked, WalkOptions } from '../support/admin/openapi/walk-types.ts'
import { createProduct, type Product, type Started } from '../support/cli/product.ts'
import { waitUntil } from '../support/wait.ts'

const BLOCK = /^```sh entities\n([\s\S]*?)\n```$/gm

let product: Product
let started: Started

beforeAll(async () => {
  product = createProduct()
  const closed = { TOLLGATE_ADMIN_OPEN_TO: 'nobody' }
  started = await product.start({ ...closed, TOLLGATE_CATALOG_POLL_MS: '100' })
})
afterAll(() => product.close())

const readmeText = () => readFileSync(join(HOUSE, 'README.md'), 'utf8')

/** The lines to run, with the ports of this test. */
function lines(): string {
  const read = (path: string) => readFileSync(join(HOUSE, path), 'utf8')
  const text = read('README.md') + read('docs/TUTORIAL.md')
  const blocks = [...text.matchAll(BLOCK)].map(([, block = '']) => block)
  expect(blocks).toHaveLength(5)
  const pasted = blocks.join('\n')
  expect(pasted).toContain('=http://127.0.0.1:8182;')
  expect(pasted).toContain('http://127.0.0.1:8181/')
  return pasted
    .replaceAll('http://127.0.0.1:8182', started.admin)
    .replaceAll('http://127.0.0.1:8181', started.realtime)
    .replace('DATA=data;', `DATA=${product.dataDir};`)
}

/** Runs the text in a shell; the lines of its output. */
function paste(text: string): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, TOLLGATE_DATA_DIR: product.dataDir }
    execFile('bash', ['-c', text], { env, cwd: HOUSE }, (error, stdout, stderr) => {
      if (error !== null || stderr !== '') reject(error ?? new Error(stderr))
      else resolve(stdout.trim().split('\n'))
    })
  })
}

describe('the lines of README.md', () => {
  it('create a customer, charge it, and change a price', async () => {
    const outputs = await paste(`umask 022\n${lines()}`)
    expect(statSync(join(product.dataDir, 'cookies')).mode & 0o777).toBe(0o600)
    const [login, changed, account, plan, rate, subscriber, topUp, start, release] = outputs
    expect(JSON.parse(login ?? '')).toMatchObject({
      status: 1,
      details: { user: 'admin', must_change_password: true },
    })
    expect(JSON.parse(changed ?? '')).toMatchObject({ status: 1, details: true })
    const [, aid] = /^account (\d+)$/.exec(account ?? '') ?? []
    const [, sid] = /^subscriber (\d+)$/.exec(subscriber ?? '') ?? []
    const answers = outputs.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
    for (const answer of answers) expect(answer).toMatchObject({ status: 1 })
    expect(answers).toHaveLength(14)
    expect(JSON.parse(plan ?? '')).toMatchObject({ details: true, entity: { name: 'VIEWER' } })
    expect(JSON.parse(rate ?? '')).toMatchObject({ details: true, entity: { key: 'VIDEO' } })
    const owner = { aid: Number(aid), sid: Number(sid) }
    const credited = { ...owner, pp_includes_name: 'MONEY', balance: { cost: -5 } }
    expect(JSON.parse(topUp ?? '')).toMatchObject({ details: true, entity: credited })
    expect(JSON.parse(start ?? '')).toMatchObject({ returnCode: 1, grantedVolume: 600 })
    expect(JSON.parse(release ?? '')).toMatchObject({ returnCode: 1 })
    const [left, recorded, , clip, revisions, last, made] = answers.slice(-7)
    expect(made).toMatchObject({ status: 1, entity: { username: 'ada@example.org' } })
    expect(outputs.slice(-6).join('\n')).toMatch(/\b[0-9a-f]{32}\b/)
    expect(left.details).toMatchObject([{ ...owner, balance: { cost: -4.9 } }])
    expect(recorded.details).toMatchObject([
      { type: 'balance', aprice: -5 },
      { type: 'realtime', arate_key: 'VIDEO', usagev: 300, aprice: 0.1 },
    ])
    expect(clip).toMatchObject({ returnCode: 1, grantedVolume: 60 })
    const [before, after] = revisions.details
    expect(before.to).toBe(after.from)
    expect(after.to).toBe('2170-01-01T00:00:00+0000')
    expect(last.details).toMatchObject([{ pp_includes_name: 'MONEY', balance: { cost: -4.87 } }])
  })

  it('charge and pay an account, and show what is owed', async () => {
    const [, lines = ''] = /^```sh billing\n([\s\S]*?)\n```$/m.exec(readmeText()) ?? []
    expect(lines.split('\n')).toHaveLength(3)
    const login = `ADMIN=${started.admin}; COOKIES=${product.dataDir}/cookies`
    const outputs = await paste(`${login}\n${lines}`)
    const [credit, pay, bill] = outputs.map((line) => JSON.parse(line))
    expect(credit).toMatchObject({ status: 1, stamp: expect.stringMatching(/^[0-9a-f]{32}$/) })
    const { record_ids: ids } = pay.details
    expect(pay).toMatchObject({ status: 1, details: { payments_received: 1, payments_saved: 1 } })
    // The credit is a line of the next invoice, so the payment becomes credit of the account.
    const balance = { total: '-15.00', without_waiting: '-15.00', total_pending_amount: 0 }
    expect(bill).toMatchObject({ status: 1, details: { balance, bill: [] } })
    const [, again] = (await paste(`${login}\n${lines}`)).map((line) => JSON.parse(line))
    expect(again.details.record_ids).toEqual(ids)
  })

  it('price a file', async () => {
    const [, lines = ''] = /^```sh file\n([\s\S]*?)\n```$/m.exec(readmeText()) ?? []
    expect(lines.split('\n')).toHaveLength(2)
    const counts = 'roaming.csv: 5 records, 5 charged'
    expect(await paste(lines)).toEqual([
      'created ROAMING',
      counts,
      '  call: 2 records, 185 units, 0.6 GBP',
      '  data: 2 records, 31457280 units, 0 GBP',
      '  sms: 1 records, 1 units, 0.04 GBP',
    ])
    expect((await paste(lines)).slice(0, 2)).toEqual(['replaced ROAMING', counts])
  })

  it('also work with the client of TypeScript', async () => {
    const { stdout } = await product.run('client', 'add', 'shop', '--role', 'read,write')
    const secret = /^[0-9a-f]{32}$/m.exec(stdout)?.[0] ?? ''
    const path = new URL('../admin/openapi/client/walk.ts', import.meta.url).href
    type Generated = { walk(options: WalkOptions): Promise<Walked> }
    const generated: Generated = await import(path)
    const { admin, realtime } = started
    const client = { id: 'shop', secret }
    const walked = await generated.walk({
      ...{ admin, realtime, client, suffix: '_2', until: waitUntil },
    })
    expect(walked).toMatchObject({ credit: [-5, -4.9], revisions: 2 })
    expect(walked.lines).toEqual(expect.arrayContaining(['balance', 'realtime']))
    expect(walked.refused).toMatch(/^17577 .*lastname is mandatory; email is mandatory/)
    expect(walked.owed).toContain('"balance"')
  })
})
