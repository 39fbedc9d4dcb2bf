/**
 * README.md, "Keep customers and prices" and "Let others in": the lines are pasted into a shell, as
 * they are.
 */
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { HOUSE } from '../house/tree.ts'
import { createProduct, type Product, type Started } from './product.ts'

const BLOCK = /^```sh entities\n([\s\S]*?)\n```$/gm

let product: Product
let started: Started

beforeAll(async () => {
  product = createProduct()
  const closed = { TOLLGATE_ADMIN_OPEN_TO: 'nobody' }
  started = await product.start({ ...closed, TOLLGATE_CATALOG_POLL_MS: '100' })
})
afterAll(() => product.close())

/** What is to be pasted, at the ports that were free. */
function lines(): string {
  const text = readFileSync(join(HOUSE, 'README.md'), 'utf8')
  const blocks = [...text.matchAll(BLOCK)].map(([, block = '']) => block)
  expect(blocks).toHaveLength(5)
  const pasted = blocks.join('\n')
  expect(pasted).toContain('=http://127.0.0.1:8182;')
  expect(pasted).toContain('http://127.0.0.1:8181/')
  return pasted
    .replaceAll('http://127.0.0.1:8182', started.admin)
    .replaceAll('http://127.0.0.1:8181', started.realtime)
    .replace(/\bdata\//g, `${product.dataDir}/`)
}

/** Each line of what they write. */
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
  it('keep a customer, charge it, and change a price', async () => {
    const said = await paste(lines())
    const [login, changed, account, plan, rate, subscriber, topUp, start, release] = said
    expect(JSON.parse(login ?? '')).toMatchObject({
      status: 1,
      details: { user: 'admin', must_change_password: true },
    })
    expect(JSON.parse(changed ?? '')).toMatchObject({ status: 1, details: true })
    const [, aid] = /^account (\d+)$/.exec(account ?? '') ?? []
    const [, sid] = /^subscriber (\d+)$/.exec(subscriber ?? '') ?? []
    const answers = said.filter((line) => line.startsWith('{')).map((line) => JSON.parse(line))
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
    expect(said.slice(-6).join('\n')).toMatch(/\b[0-9a-f]{32}\b/)
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
})
