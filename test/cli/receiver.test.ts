/** The example of a receiver of notifications, started as README.md says. */
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'

const ROOT = fileURLToPath(new URL('../..', import.meta.url))
const started: ChildProcess[] = []
/** As on a machine whose npm has cached nothing, and that has no network. */
const cache = mkdtempSync(join(tmpdir(), 'tg-npx-'))

afterEach(async () => {
  for (const child of started.splice(0)) {
    if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGKILL')
  }
  rmSync(cache, { recursive: true, force: true, maxRetries: 5 })
})

function start(...args: string[]) {
  const env = { ...process.env, npm_config_cache: cache, npm_config_offline: 'true' }
  // A separate process group: npx runs the program as a child.
  const options = { cwd: ROOT, env, detached: true } as const
  const child = spawn('npx', ['./examples/receiver', ...args], options)
  started.push(child)
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (bytes: Buffer) => {
      output += bytes.toString('utf8')
    })
  }
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  return { output: () => output, ended }
}

async function receiving() {
  const receiver = start('--port', '0')
  const address = () => /http:\/\/127\.0\.0\.1:\d+\//.exec(receiver.output())?.[0] ?? ''
  await expect.poll(address).not.toBe('')
  return { url: address(), lines: () => receiver.output().trimEnd().split('\n').slice(1) }
}

const NOTIFICATION = {
  event_code: 'DATA_10_MIB',
  event_type: 'balance',
  before: '1',
  after: '2',
  based_on: 'usage',
  stamp: 'a1',
  start_notify_time: '1781524800',
  creation_time: '1781524800',
}
const extra_params = { aid: 1, sid: 1001, row: { usagev: 1, urt: 1 } }
const conditions = [{ type: 'reached_constant', value: 2, path: 'spent' }]

function parameters(stamp: string): URLSearchParams {
  const compound = {
    extra_params: JSON.stringify(extra_params),
    conditions: JSON.stringify(conditions),
  }
  return new URLSearchParams({ ...NOTIFICATION, ...compound, stamp })
}

describe('the example of a receiver', () => {
  it('prints each notification once, and accepts it as often as it arrives', async () => {
    const { url, lines } = await receiving()
    const answer = async (init: RequestInit, query = '') => {
      const response = await fetch(`${url}${query}`, init)
      return [response.status, await response.json()]
    }
    const accepted = [200, { success: true }]
    for (let times = 1; times <= 2; times += 1) {
      expect(await answer({}, `?${parameters('a1')}`)).toEqual(accepted)
    }
    expect(await answer({ method: 'POST', body: parameters('a2') })).toEqual(accepted)
    const body = JSON.stringify({ ...NOTIFICATION, stamp: 'a3\u009b', extra_params, conditions })
    const headers = { 'content-type': 'application/json' }
    expect(await answer({ method: 'POST', body, headers })).toEqual(accepted)
    await expect.poll(() => lines().length).toBe(3)
    const printed = lines().map((line) => JSON.parse(line))
    expect(printed.map(({ stamp }) => stamp)).toEqual(['a1', 'a2', 'a3\u009b'])
    expect(lines()[2]).not.toContain('\u009b')
    for (const one of printed) {
      expect(one).toMatchObject({ event_code: 'DATA_10_MIB', extra_params, conditions })
    }
  })

  it('refuses what is not a notification', async () => {
    const { url, lines } = await receiving()
    for (const init of [
      {},
      { method: 'POST', body: '{', headers: { 'content-type': 'text/json' } },
    ]) {
      const response = await fetch(url, init)
      expect([response.status, await response.json()]).toMatchObject([400, { success: false }])
    }
    expect(lines()).toEqual([])
  })

  it('says why it cannot start', async () => {
    const taken = createServer().listen(0, '127.0.0.1')
    await new Promise((resolve) => taken.once('listening', resolve))
    const { port } = taken.address() as { port: number }
    const second = start('--port', String(port))
    expect(await second.ended).toBe(1)
    expect(second.output()).toContain(`receiver: listen EADDRINUSE: address already in use`)
    taken.close()
    const wrong = start('--port', 'x')
    expect(await wrong.ended).toBe(2)
    expect(wrong.output()).toContain("--port must be a number from 0 to 65535, not 'x'")
  })
})
