import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { afterEach, describe, expect, test } from 'vitest'
import { FolderInUseError } from '../../src/embedded/folder-lock.ts'
import { redisArguments } from '../../src/embedded/redis/arguments.ts'
import { environmentFor, findRedis, RedisMissingError } from '../../src/embedded/redis/find.ts'
import { OrphanRedisError } from '../../src/embedded/redis/orphan.ts'
import { sendCommand } from '../../src/embedded/redis/send-command.ts'
import {
  adoptRedis,
  type EmbeddedRedis,
  type RedisOptions,
  RedisStartError,
  startRedis,
} from '../../src/embedded/redis.ts'
import { runDirFor } from '../../src/embedded/run-dir.ts'
import { useFolderEach, useMadeEach } from '../support/opened.ts'
import { startTestRedis } from '../support/redis.ts'
import { startRedisOwner } from '../support/redis-owner.ts'

const started: EmbeddedRedis[] = []

const folder = useFolderEach()
const dataDir = useMadeEach(() => join(folder(), 'data'))
const warnings = useMadeEach<string[]>(() => [])

afterEach(async () => {
  await Promise.all(started.splice(0).map((redis) => redis.close({ force: true })))
  // Log messages of a test.
  const log = { info: () => undefined, warn: note, error: note }
  const left = await adoptRedis({
    dataDir: dataDir(),
    runDir: runDirFor(dataDir()),
    appendfsync: 'always',
    log,
  })
  await left?.close({ force: true })
})

const note = (_: unknown, message?: string) => {
  warnings().push(message ?? '')
}

async function start(options: Partial<RedisOptions> = {}): Promise<EmbeddedRedis> {
  const redis = await startRedis({
    dataDir: dataDir(),
    runDir: runDirFor(dataDir()),
    appendfsync: 'always',
    log: { info: () => undefined, warn: note, error: note },
    ...options,
  })
  started.push(redis)
  return redis
}

function client(socketPath: string): Redis {
  return new Redis(socketPath, { retryStrategy: () => null, lazyConnect: true })
}

async function withClient<T>(socketPath: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = client(socketPath)
  try {
    return await use(redis)
  } finally {
    redis.disconnect()
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe('a started Redis', () => {
  test('closes its folder to other users of the machine, even if it was open before', async () => {
    mkdirSync(dataDir())
    chmodSync(dataDir(), 0o755)
    await start()
    expect(statSync(dataDir()).mode & 0o777).toBe(0o700)
  })

  test('is reachable only on a private unix socket, with the settings of the ledger', async () => {
    const redis = await start({ maxmemoryBytes: 50_000_000 })
    expect(redis.url).toBe(`unix://${redis.socketPath}`)
    expect(statSync(redis.socketPath).mode & 0o777).toBe(0o700)
    expect(statSync(runDirFor(dataDir())).mode & 0o777).toBe(0o700)
    const names = [
      'port',
      'appendonly',
      'appendfsync',
      'save',
      'maxmemory',
      'maxmemory-policy',
      'hash-max-listpack-value',
      'hash-max-listpack-entries',
      'aof-use-rdb-preamble',
      'auto-aof-rewrite-min-size',
    ]
    const found = await withClient(redis.socketPath, (c) => c.config('GET', ...names))
    const pairs = found as string[]
    const settings = Object.fromEntries(names.map((name) => [name, pairs[pairs.indexOf(name) + 1]]))
    expect(settings).toEqual({
      port: '0',
      appendonly: 'yes',
      appendfsync: 'always',
      save: '',
      maxmemory: '50000000',
      'maxmemory-policy': 'noeviction',
      'hash-max-listpack-value': '1024',
      'hash-max-listpack-entries': '128',
      'aof-use-rdb-preamble': 'yes',
      'auto-aof-rewrite-min-size': String(256 * 1024 * 1024),
    })
  })

  test('keeps its data over an orderly stop', async () => {
    const first = await start({ appendfsync: 'everysec' })
    await withClient(first.socketPath, (c) => c.set('k', 'v'))
    await first.close()
    await first.close()
    expect(await first.exited).toEqual({ code: 0, signal: null })
    const second = await start()
    expect(await withClient(second.socketPath, (c) => c.get('k'))).toBe('v')
    expect(warnings()).toEqual([])
  })

  test('keeps acknowledged data when it is killed, and frees the folder', async () => {
    const redis = await startTestRedis()
    await withClient(redis.socketPath, (c) => c.set('k', 'v'))
    const before = redis.pid
    expect(await redis.kill9()).toEqual({ code: null, signal: 'SIGKILL' })
    await redis.restart()
    expect(redis.pid).not.toBe(before)
    expect(await withClient(redis.socketPath, (c) => c.get('k'))).toBe('v')
    await redis.close()
    expect(isAlive(redis.pid)).toBe(false)
  })

  test('that has died does not affect its successor when it is closed', async () => {
    const first = await start()
    process.kill(first.pid, 'SIGKILL')
    await first.exited
    const second = await start()
    await first.close()
    expect(await sendCommand(second.socketPath, ['PING'], 5_000)).toBe('PONG')
    expect(warnings()).toEqual(['redis-server ended unexpectedly'])
  })

  test('is killed if it does not end in time', async () => {
    const redis = await start({ closeTimeoutMs: 100 })
    process.kill(redis.pid, 'SIGSTOP')
    expect(await redis.close({ force: true })).toBeNull()
    expect(await redis.exited).toEqual({ code: null, signal: 'SIGKILL' })
  })

  test('is left running if it does not confirm that its log is written', async () => {
    const redis = await start({ writeTimeoutMs: 100 })
    await withClient(redis.socketPath, (c) => c.set('k', 'v'))
    process.kill(redis.pid, 'SIGSTOP')
    expect(await redis.close()).toEqual({ reason: 'redis-server does not answer', bytes: null })
    await expect(start()).rejects.toThrow(OrphanRedisError)
    process.kill(redis.pid, 'SIGCONT')
    const adopted = await start()
    expect(adopted.pid).toBe(redis.pid)
    expect(await withClient(adopted.socketPath, (c) => c.get('k'))).toBe('v')
    expect(await adopted.close()).toBeNull()
    expect(await redis.exited).toEqual({ code: 0, signal: null })
  })
})

describe('one Redis per data folder', () => {
  test('refuses a second one while the owner lives, and the first continues', async () => {
    const first = await start()
    await expect(start()).rejects.toThrow(FolderInUseError)
    await expect(start()).rejects.toThrow(String(process.pid))
    expect(await sendCommand(first.socketPath, ['PING'], 5_000)).toBe('PONG')
  })

  test('also with another run folder', async () => {
    const first = await start()
    const other = join(folder(), 'other-run')
    mkdirSync(other)
    await expect(start({ runDir: other })).rejects.toThrow(FolderInUseError)
    expect(await sendCommand(first.socketPath, ['PING'], 5_000)).toBe('PONG')
  })

  test('adopts a Redis without an owner, with its data and the current settings', async () => {
    const program = await findRedis(dataDir())
    const socketPath = join(runDirFor(dataDir()), 'redis.sock')
    const given = { dataDir: dataDir(), socketPath, appendfsync: 'everysec' as const }
    const orphan = spawn(program.command, redisArguments(program, given), {
      ...environmentFor(program),
      stdio: 'ignore',
    })
    const ended = once(orphan, 'exit')
    await expect.poll(() => sendCommand(socketPath, ['PING'], 5_000).catch(() => '')).toBe('PONG')
    await withClient(socketPath, (c) => c.set('k', 'orphaned'))
    const redis = await start({ appendfsync: 'always', maxmemoryBytes: 50_000_000 })
    expect(redis.pid).toBe(orphan.pid)
    const settings = await withClient(redis.socketPath, (c) =>
      c.config('GET', 'appendfsync', 'maxmemory'),
    )
    // Order of Redis, not of the request.
    expect(new Set(settings as string[])).toEqual(
      new Set(['appendfsync', 'always', 'maxmemory', '50000000']),
    )
    expect(await withClient(redis.socketPath, (c) => c.get('k'))).toBe('orphaned')
    expect(warnings()).toEqual(['adopted a redis-server of an earlier run'])
    expect(await redis.close()).toBeNull()
    expect(await ended).toEqual([0, null])
  })

  test('ends a Redis without an owner if another run folder is used, with its data', async () => {
    const first = await start({ writeTimeoutMs: 0 })
    await withClient(first.socketPath, (c) => c.set('k', 'elsewhere'))
    process.kill(first.pid, 'SIGSTOP')
    expect(await first.close()).not.toBeNull()
    process.kill(first.pid, 'SIGCONT')
    const other = join(folder(), 'other-run')
    mkdirSync(other)
    const second = await start({ runDir: other })
    expect(second.pid).not.toBe(first.pid)
    expect(isAlive(first.pid)).toBe(false)
    expect(await withClient(second.socketPath, (c) => c.get('k'))).toBe('elsewhere')
    expect(warnings()).toEqual(['stopped a redis-server that an earlier owner had left running'])
  })
})

describe('the owning process', () => {
  test('killed: Redis survives, and the next owner adopts it without loss', async () => {
    const owner = await startRedisOwner(join(folder(), 'owner'), dataDir())
    await withClient(owner.socketPath, (c) => c.set('k', 'kept'))
    await expect(start()).rejects.toThrow(String(owner.process.pid))
    owner.process.kill('SIGKILL')
    await once(owner.process, 'exit')
    expect(await sendCommand(owner.socketPath, ['PING'], 5_000)).toBe('PONG')
    const redis = await start()
    expect(redis.pid).toBe(owner.redisPid)
    expect(await withClient(redis.socketPath, (c) => c.get('k'))).toBe('kept')
    expect(warnings()).toEqual(['adopted a redis-server of an earlier run'])
  })

  test('exiting without closing: likewise', async () => {
    const owner = await startRedisOwner(join(folder(), 'owner'), dataDir())
    owner.exit()
    await once(owner.process, 'exit')
    expect((await start()).pid).toBe(owner.redisPid)
  })

  test('detects that an adopted Redis has died, and frees the folder', async () => {
    const owner = await startRedisOwner(join(folder(), 'owner'), dataDir())
    owner.process.kill('SIGKILL')
    await once(owner.process, 'exit')
    const redis = await start()
    process.kill(redis.pid, 'SIGKILL')
    await redis.exited
    expect((await start()).pid).not.toBe(redis.pid)
    expect(warnings()).toContain('redis-server ended unexpectedly')
  })
})

describe('a start that fails', () => {
  test('reports how Redis ended and its last output', async () => {
    mkdirSync(join(dataDir(), 'appendonlydir'), { recursive: true })
    writeFileSync(join(dataDir(), 'appendonlydir/appendonly.aof.manifest'), 'no manifest\n')
    const failed = await start().catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(RedisStartError)
    expect(String(failed)).toMatch(/ended during startup with code 1/)
    expect(String(failed)).toMatch(/AOF manifest/)
    rmSync(join(dataDir(), 'appendonlydir'), { recursive: true })
    await start()
  })

  test('names a missing program', async () => {
    const program = { command: join(folder(), 'none'), version: '7.0.0', libraryPath: undefined }
    await expect(start({ program })).rejects.toThrow(/none cannot be run/)
  })
})

describe('finding redis-server', () => {
  const absent = 'redis-server-that-is-not-there'

  function unpacked(version: string): void {
    const bin = join(dataDir(), 'redis/redis-x/bin')
    mkdirSync(bin, { recursive: true })
    const script = `#!/bin/sh\necho "Redis server v=${version} lib=$LD_LIBRARY_PATH"\n`
    writeFileSync(join(bin, 'redis-server'), script, { mode: 0o755 })
    const record = { version, server: 'redis-x/bin/redis-server', libraryPath: ['redis-x/lib'] }
    writeFileSync(join(dataDir(), 'redis/redis.json'), JSON.stringify(record))
  }

  test('uses the one unpacked by setup if there is none on the PATH', async () => {
    unpacked('7.4.2')
    expect(await findRedis(dataDir(), absent, folder())).toEqual({
      command: join(dataDir(), 'redis/redis-x/bin/redis-server'),
      version: '7.4.2',
      libraryPath: join(dataDir(), 'redis/redis-x/lib'),
    })
  })

  test('also from the source tree, for another data folder', async () => {
    unpacked('6.2.0')
    const found = await findRedis(join(folder(), 'elsewhere'), absent, folder())
    expect(found.version).toBe('6.2.0')
  })

  test('refuses one that is too old, and lists where it looked', async () => {
    unpacked('6.0.16')
    const failed = await findRedis(dataDir(), absent, folder()).catch((error: unknown) => error)
    expect(failed).toBeInstanceOf(RedisMissingError)
    expect(String(failed)).toMatch(/on the PATH: not found; .*redis\.json: version 6\.0\.16/)
    expect(String(failed)).toMatch(/scripts\/provide-redis\.mjs .*\/redis'/)
  })

  test('refuses a record that setup did not write', async () => {
    mkdirSync(join(dataDir(), 'redis'), { recursive: true })
    writeFileSync(join(dataDir(), 'redis/redis.json'), '{"server":')
    await expect(findRedis(dataDir(), absent, folder())).rejects.toThrow(/invalid contents/)
  })
})
