import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ModuleKind, ScriptTarget, transpileModule } from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createShutdown } from '../../src/runtime/shutdown.ts'

type Record = { level: string; message: string; step?: string; boundMs?: number }

function collect(timeoutMs = 10_000) {
  const records: Record[] = []
  const write = (level: string) => (object: { step?: string }, message: string) =>
    records.push({ ...object, level, message })
  const log = {
    info: write('info'),
    warn: write('warn'),
    error: write('error'),
    fatal: write('fatal'),
  }
  return { shutdown: createShutdown({ timeoutMs, log: log as never }), records }
}

const never = () => new Promise<void>(() => {})

describe('shutdown', () => {
  it('runs the steps one after the other, in reverse order of registration', async () => {
    const { shutdown } = collect()
    const seen: string[] = []
    for (const name of ['store', 'pool', 'socket']) {
      shutdown.add(name, async () => {
        seen.push(`${name} begins`)
        await new Promise(setImmediate)
        seen.push(`${name} ends`)
      })
    }
    expect(await shutdown.run('test')).toEqual([])
    expect(seen).toEqual(
      ['socket', 'pool', 'store'].flatMap((name) => [`${name} begins`, `${name} ends`]),
    )
  })

  it('runs once, however often it is requested', async () => {
    const { shutdown } = collect()
    let runs = 0
    shutdown.add('step', () => {
      runs += 1
    })
    await Promise.all([shutdown.run('a'), shutdown.run('b')])
    await shutdown.run('c')
    expect(runs).toBe(1)
  })

  it('names a step that hangs, skips it, and runs the following ones', async () => {
    const { shutdown, records } = collect(50)
    let isClosed = false
    shutdown.add('store', () => {
      isClosed = true
    })
    shutdown.add('pool', never)
    expect(await shutdown.run('test')).toEqual(['pool'])
    expect(isClosed).toBe(true)
    expect(records.find((record) => record.level === 'warn')).toMatchObject({ step: 'pool' })
  })

  it('gives a step its requested share of the time, and the last one the rest', async () => {
    const { shutdown, records } = collect(400)
    shutdown.add('store', never)
    shutdown.add('metrics', never)
    shutdown.add('pool', never, 0.9)
    expect(await shutdown.run('test')).toEqual(['pool', 'metrics', 'store'])
    const bounds = records.flatMap(({ boundMs }) => (boundMs === undefined ? [] : [boundMs]))
    // Timers may be late, or early by the fraction of a millisecond that they drop.
    expect(bounds[0]).toBeGreaterThan(200)
    expect(bounds[0]).toBeLessThanOrEqual(360)
    expect(bounds[1]).toBeLessThanOrEqual(21)
  })

  it('is bounded when all steps hang', async () => {
    const { shutdown } = collect(50)
    for (const name of ['a', 'b', 'c']) shutdown.add(name, never)
    expect(await shutdown.run('test')).toEqual(['c', 'b', 'a'])
  })

  it('names a step that fails, by exception or rejection, and continues', async () => {
    const { shutdown, records } = collect()
    shutdown.add('rejects', () => Promise.reject(new Error('no')))
    shutdown.add('throws', () => {
      throw new Error('no')
    })
    expect(await shutdown.run('test')).toEqual(['throws', 'rejects'])
    expect(records.filter((record) => record.level === 'error')).toHaveLength(2)
  })
})

describe('shutdown by real signals', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tollgate-shutdown-'))
  const children: ChildProcess[] = []

  beforeAll(() => {
    for (const name of ['shutdown', 'clock']) {
      const source = readFileSync(
        new URL(`../../src/runtime/${name}.ts`, import.meta.url),
        'utf8',
      ).replace(/(from '\.\/\w+)\.ts'/g, "$1.mjs'")
      const { outputText } = transpileModule(source, {
        compilerOptions: { module: ModuleKind.ESNext, target: ScriptTarget.ES2023 },
      })
      writeFileSync(join(folder, `${name}.mjs`), outputText)
    }
    writeFileSync(
      join(folder, 'main.mjs'),
      `import { createShutdown } from './shutdown.mjs'
       const say = (object, message) => console.log(message, object.step ?? '')
       const log = { info: say, warn: say, error: say, fatal: say }
       const shutdown = createShutdown({ timeoutMs: 60000, log })
       const fails = () => { throw new Error('no') }
       const steps = { quick() {}, fails, hangs: () => new Promise(() => {}) }
       shutdown.add(process.argv[2], steps[process.argv[2]])
       shutdown.listen()
       setInterval(() => {}, 1000)
       if (process.argv[3] === 'fail') setImmediate(() => shutdown.fail(new Error('no'), 'a part'))
       if (process.argv[3] === 'defect') setImmediate(() => { throw new Error('defect') })
       console.log('ready')`,
    )
  })

  afterAll(() => {
    for (const child of children) child.kill('SIGKILL')
    rmSync(folder, { recursive: true, force: true })
  })

  function start(...args: string[]) {
    const child = spawn(process.execPath, [join(folder, 'main.mjs'), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    children.push(child)
    let output = ''
    const said = (text: string) =>
      new Promise<void>((resolve) => {
        const look = () => output.includes(text) && resolve()
        child.stdout.on('data', look)
        look()
      })
    child.stdout.on('data', (chunk) => {
      output += chunk
    })
    return { child, said, ended: once(child, 'exit') }
  }

  it.each(['SIGTERM', 'SIGINT'] as const)('%s ends the process with 0', async (signal) => {
    const { child, said, ended } = start('quick')
    await said('ready')
    child.kill(signal)
    expect(await ended).toEqual([0, null])
  })

  it('exits with 1 if a step fails', async () => {
    const { child, said, ended } = start('fails')
    await said('ready')
    child.kill('SIGTERM')
    expect(await ended).toEqual([1, null])
  })

  it('does not wait after a second signal', async () => {
    const { child, said, ended } = start('hangs')
    await said('ready')
    child.kill('SIGINT')
    await said('shutdown begins')
    child.kill('SIGINT')
    expect(await ended).toEqual([1, null])
  })

  it('also runs the steps after an uncaught exception, and exits with 1', async () => {
    const { said, ended } = start('quick', 'defect')
    await said('shutdown ends')
    expect(await ended).toEqual([1, null])
  })
  it('also runs the steps after a permanent failure of a component, which is named', async () => {
    const { said, ended } = start('quick', 'fail')
    await said('a part')
    await said('shutdown ends')
    expect(await ended).toEqual([1, null])
  })
})
