/** `tollgate start` as processes: signals, restarts and locks exist only between processes. */
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import {
  createProduct,
  isAlive,
  type Product,
  processesWith,
  rolesOf,
  type Started,
  shell,
} from '../support/cli/product.ts'
import { postJson } from '../support/post-json.ts'

const MIB = 1024 * 1024

describe('a newcomer', () => {
  let product: Product
  let tollgate: Started

  beforeAll(async () => {
    product = createProduct()
    tollgate = await product.start()
  })
  afterAll(() => product.close())

  const packOf = async () => {
    const { code, stdout, stderr } = await product.run('balance', 'show', '--sid', '1001', '--json')
    expect([code, stderr]).toEqual([0, ''])
    const shown = JSON.parse(stdout)
    return shown.buckets.find(({ name }: { name: string }) => name === 'DATA_PACK')
  }

  /** Process 0 would be the group of this test. */
  const pidOf = (name: string): number => {
    const pid = tollgate.children().get(name)
    if (pid === undefined) throw new Error(`${name} does not run`)
    return pid
  }

  /** One of the three lines for a session of this name, repeated until it is granted. */
  const granted = (index: number, name: string) => {
    const line = tollgate.curls[index]?.replaceAll('demo-', `${name}-`) ?? ''
    return expect.poll(() => shell(line).catch(() => '')).toContain('"returnCode":1,')
  }

  it('runs three lines, and a session is opened, updated and released', async () => {
    const parts = ['admin', 'mongo', 'realtime', 'recorder', 'redis-server']
    expect([...tollgate.children().keys()].sort()).toEqual(parts)
    const charging = readFileSync(`/proc/${pidOf('realtime')}/cmdline`, 'utf8')
    expect(charging).toContain('--max-semi-space-size=21')
    expect(tollgate.curls).toHaveLength(3)
    const answers = []
    for (const line of tollgate.curls) answers.push(JSON.parse(await shell(line)))
    expect(answers).toMatchObject([
      { status: 1, returnCode: 1, requestNum: 0, sid: 1001, grantedVolume: 10 * MIB },
      { status: 1, returnCode: 1, requestNum: 1, grantedVolume: 10 * MIB },
      { status: 1, returnCode: 1, requestNum: 2 },
    ])
  })

  it('sees the usage of the session in the balance', async () => {
    expect(await packOf()).toMatchObject({
      kind: 'units',
      credited: 1024 * MIB,
      spent: 11 * MIB,
      free: 1013 * MIB,
      reserved: 0,
    })
    const { stdout } = await product.run('balance', 'show', '--sid', '1001')
    expect(stdout).toMatch(/^subscriber 1001 of account 1\n/)
    expect(stdout).toMatch(/1 MONEY +GBP +10 +0 +0 +10 +never/)
    expect(stdout).toMatch(/shared by account 1\n.*\n.*3 SHARED_DATA/)
  })

  it('sees the event that the third line makes', async () => {
    const listed = async () => {
      const { stdout } = await product.run('event', 'list', '--sid', '1001', '--json')
      return JSON.parse(stdout)
    }
    await expect.poll(async () => (await listed()).length).toBe(1)
    expect(await listed()).toMatchObject([
      { event_code: 'DATA_10_MIB', before: 8 * MIB, after: 11 * MIB, reached_constant: 10 * MIB },
    ])
  })

  it('adds to a balance, once per operation id', async () => {
    const add = ['balance', 'add', '--sid', '1002', '--include', '1', '--amount', '2.5']
    const first = await product.run(...add, '--operation-id', 'mine')
    expect(first).toEqual({
      code: 0,
      stdout: 'subscriber 1002, include 1: 5 GBP -> 7.5 GBP (2.5 GBP), operation mine\n',
      stderr: '',
    })
    expect(await product.run(...add, '--operation-id', 'mine')).toEqual(first)
    const { stdout } = await product.run('balance', 'show', '--sid', '1002', '--json')
    expect(JSON.parse(stdout).buckets).toMatchObject([{ free: 7.5, credited: 7.5 }])
  })

  it('learns how to repeat an operation whose outcome is unknown', async () => {
    const config = join(product.dataDir, 'replicas.yaml')
    writeFileSync(config, 'redis: { replicaAcks: 1 }\n')
    const add = ['balance', 'add', '--sid', '1003', '--include', '1', '--amount', '1']
    const { code, stderr } = await product.run(...add, '--config', config)
    expect(code).toBe(1)
    const id = /it may have been done: repeat it with --operation-id (\S+)$/.exec(stderr.trim())
    const again = await product.run(...add, '--operation-id', id?.[1] ?? 'none')
    expect(again.stdout).toMatch(
      /^subscriber 1003, include 1: 20 GBP -> 21 GBP \(1 GBP\), operation cli-/,
    )
    const { stdout } = await product.run('balance', 'show', '--sid', '1003', '--json')
    expect(JSON.parse(stdout).buckets).toMatchObject([{ free: 21, credited: 21 }])
  })

  it.each([
    [['--sid', '1002', '--include', '1', '--amount', 'x'], 2, '--amount must be a decimal'],
    [['--sid', '1002', '--include', '2', '--amount', '1.5'], 2, '--amount must be an integer'],
    [['--sid', '1002', '--include', '9', '--amount', '1'], 1, 'no prepaid include 9 now'],
    [['--sid', '77', '--include', '1', '--amount', '1'], 1, 'there is no subscriber 77 now'],
    [['--sid', '1002', '--include', '3', '--amount', '1'], 1, 'shared by the account: use --aid 1'],
    [['--aid', '1', '--include', '1', '--amount', '1'], 1, 'belongs to subscribers: use --sid'],
    [['--sid', '1002', '--include', '1', '--amount=-99'], 1, 'has 7.5 GBP free, less than 99 GBP'],
    [['--include', '1', '--amount', '1'], 2, 'give --sid for a subscriber, or --aid'],
  ])('learns why a balance cannot be changed: %j', async (args, code, reason) => {
    const ended = await product.run('balance', 'add', ...args)
    expect(ended.code).toBe(code)
    expect(ended.stderr).toContain(reason)
    expect(ended.stderr.trim().split('\n')).toHaveLength(1)
  })

  it('finds every unit accounted for', async () => {
    const { code, stdout, stderr } = await product.run('audit', '--json')
    const report = JSON.parse(stdout)
    expect({ code, stderr, report }).toMatchObject({
      code: 0,
      stderr: '',
      report: { ok: true, accounts: 1, owners: 5, sessions: 0, differences: [] },
    })
    expect(report.lines).toBeGreaterThan(6)
    expect((await product.run('audit')).stdout).toMatch(/every unit is accounted for\n$/)
  })

  it('sees the metrics of all processes in one place, and that all is well', async () => {
    const metrics = async () => (await fetch(`${tollgate.admin}/metrics`)).text()
    await expect
      .poll(metrics)
      .toMatch(/tollgate_requests_total\{outcome="granted",code="1",.*role="realtime"\} [3-9]/)
    await expect.poll(metrics).toMatch(/tollgate_stream_backlog_entries\{.*role="admin"\} 0/)
    expect((await fetch(`${tollgate.admin}/health/ready`)).status).toBe(200)
  })

  it('seeds again without any effect', async () => {
    expect(await product.run('seed', 'demo')).toEqual({
      code: 0,
      stdout: 'nothing to do: the store has entities\n',
      stderr: '',
    })
  })

  it('cannot start a second product on the same data, and sees why', async () => {
    const { code, stderr } = await product.process('start')
    expect(code).toBe(1)
    expect(stderr).toMatch(/^tollgate: tollgate is already running in .* \(process \d+\)\n$/)
    expect((await fetch(`${tollgate.admin}/health/live`)).status).toBe(200)
  })

  it.each(['realtime', 'admin', 'recorder', 'redis-server', 'mongo'])(
    'has %s running again after it was killed, at the same address',
    async (name) => {
      const killed = pidOf(name)
      process.kill(killed, 'SIGKILL')
      const isBack = () => ![undefined, killed].includes(tollgate.children().get(name))
      await expect.poll(isBack).toBe(true)
      for (const request of [0, 2]) await granted(request, name)
      const ready = () =>
        fetch(`${tollgate.admin}/health/ready`).then(
          ({ status }) => status,
          () => 0,
        )
      await expect.poll(ready).toBe(200)
    },
  )

  it('sees a standby take over when charging is killed, and another one start', async () => {
    const charging = () => rolesOf(tollgate.pid, 'realtime')
    await expect.poll(() => charging().length).toBe(2)
    // The standby is the later one, and has not printed anything yet.
    const [active = Number.NaN, standby] = charging()
    process.kill(active, 'SIGKILL')
    for (const request of [0, 2]) await granted(request, 'standby')
    await expect.poll(() => charging().length).toBe(2)
    expect(charging()).toContain(standby)
    expect(charging()).not.toContain(active)
  })

  it('kills it, and its processes end by themselves; the next start cleans up', async () => {
    const before = tollgate.curls
    const children = tollgate.children()
    tollgate.signal('SIGKILL')
    await tollgate.ended
    // Redis cannot notice that its parent has ended; the next start ends it.
    children.delete('redis-server')
    const alive = () => [...children.values()].filter(isAlive)
    await expect.poll(alive).toEqual([])
    tollgate = await product.start({
      TOLLGATE_RECORDER_ENABLED: 'false',
      TOLLGATE_REALTIME_IN_FLIGHT_MAX: '1',
      TOLLGATE_REDIS_COMMAND_TIMEOUT_MS: '2400',
    })
    expect(tollgate.curls).not.toEqual(before)
    expect(await packOf()).toMatchObject({ credited: 1024 * MIB, spent: (11 + 18) * MIB })
  })

  it('records by a role that is started alone, and ends it in order', async () => {
    for (const line of tollgate.curls) await shell(line)
    const recorder = await product.role('recorder')
    await expect
      .poll(async () => (await product.run('audit')).stdout)
      .toContain('every unit is accounted for')
    const metrics = async () => (await fetch(`${tollgate.admin}/metrics`)).text()
    await expect.poll(metrics).toMatch(/tollgate_entries_recorded_total\{.*role="recorder"\} [1-9]/)
    recorder.signal('SIGTERM')
    expect((await recorder.ended).code).toBe(0)
  })

  it('stops it with Ctrl-C: a request in progress is answered, no process remains', async () => {
    const all = tollgate.children()
    const charge = async (session_id: string) => {
      const request = { record_type: 'start_request', session_id, request_num: 0, sid: 1001 }
      const body = { ...request, usaget: 'data', usagev: 1 }
      const response = await postJson(`${tollgate.realtime}/realtime`, body)
      return ((await response.json()) as { returnCode: number }).returnCode
    }
    const redis = pidOf('redis-server')
    process.kill(redis, 'SIGSTOP')
    // The second request is refused immediately, which shows that the first is in progress.
    const both = [charge('one'), charge('two')]
    expect(await Promise.race(both)).toBe(-90)
    tollgate.signal('SIGINT')
    const answers = await Promise.all(both)
    process.kill(redis, 'SIGCONT')
    expect(answers.sort()).toEqual([-90, expect.toBeOneOf([-91, -92])])
    const { code, stdout } = await tollgate.ended
    expect(code).toBe(0)
    expect(stdout).toMatch(/tollgate is stopping\ntollgate has stopped\n$/)
    expect([...[...all.values()].filter(isAlive), ...processesWith(product.dataDir)]).toEqual([])
    expect(readdirSync(join(product.dataDir, 'run'))).toEqual([])
    expect(await product.run('balance', 'show', '--sid', '1001')).toMatchObject({
      code: 1,
      stderr: `tollgate: tollgate is not running in ${product.dataDir}\n`,
    })
  })

  it('starts it again with all its data', async () => {
    const before = tollgate.curls
    tollgate = await product.start()
    expect(tollgate.curls).not.toEqual(before)
    expect(await packOf()).toMatchObject({ credited: 1024 * MIB, spent: (11 + 18 + 11) * MIB })
    // The recorder may still record what was in progress.
    await expect.poll(async () => (await product.run('audit')).code).toBe(0)
  })

  it('closes its terminal: it continues, restarts what has ended, and stops in order', async () => {
    tollgate.closeOutput()
    const recorders = () => rolesOf(tollgate.pid, 'recorder')
    const [recorder = Number.NaN] = recorders()
    process.kill(recorder, 'SIGKILL')
    await expect.poll(() => recorders().filter((pid) => pid !== recorder).length).toBe(1)
    tollgate.signal('SIGTERM')
    expect((await tollgate.ended).code).toBe(0)
    expect(processesWith(product.dataDir)).toEqual([])
  })
})

it('a role started alone is refused without running stores', async () => {
  const product = createProduct()
  try {
    await expect(product.role('recorder')).rejects.toThrow('tollgate is not running in')
  } finally {
    await product.close()
  }
})

describe('a failed start', () => {
  it('names the port that is in use, and leaves nothing behind', async () => {
    const product = createProduct()
    const blocker = createServer()
    const port = await new Promise<number>((resolve) => {
      blocker.listen(0, '127.0.0.1', () => {
        const address = blocker.address()
        resolve(typeof address === 'object' && address !== null ? address.port : 0)
      })
    })
    try {
      for (const name of ['REALTIME', 'ADMIN']) {
        const starting = product.start({ [`TOLLGATE_${name}_PORT`]: String(port) })
        await expect(starting).rejects.toThrow(
          new RegExp(`ended with code 1:[\\s\\S]*127.0.0.1:${port}: (EADDR|the port is in use)`),
        )
        expect(processesWith(product.dataDir)).toEqual([])
        expect(readdirSync(join(product.dataDir, 'run'))).toEqual([])
      }
    } finally {
      blocker.close()
      await product.close()
    }
  })

  it('names a store that does not answer', async () => {
    const product = createProduct()
    try {
      const url = 'redis://127.0.0.1:1'
      const env = { TOLLGATE_REDIS_URL: url, TOLLGATE_REDIS_CONNECT_TIMEOUT_MS: '1000' }
      await expect(product.start(env)).rejects.toThrow(
        /ended with code 1:[\s\S]*redis did not answer/,
      )
      expect(processesWith(product.dataDir)).toEqual([])
    } finally {
      await product.close()
    }
  })
})

describe('the command line', () => {
  it('exits with 2 if it is invalid, with 1 if a setting is wrong', async () => {
    const product = createProduct()
    try {
      expect(await product.run('strat')).toEqual({
        code: 2,
        stdout: '',
        stderr: "tollgate: unknown command 'strat': did you mean 'start'?\n",
      })
      const wrong = await product.run('audit', '--config', '/nowhere.yaml')
      expect(wrong).toMatchObject({ code: 1, stdout: '' })
      expect(wrong.stderr).toContain('/nowhere.yaml')
      expect((await product.run('version')).stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
      expect((await product.run('help')).stdout).toMatch(/^Usage: tollgate COMMAND/)
      expect((await product.run('audit', '--help')).stdout).toMatch(/^Usage: tollgate audit/)
    } finally {
      await product.close()
    }
  })
})
