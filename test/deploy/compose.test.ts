/** Compose cannot run here: its file is checked, and its commands run where that is possible. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { checkListening } from '../../src/admin/listening.ts'
import { currencyName } from '../../src/billing/currency.ts'
import { DEMO_FILE, loadConfig } from '../../src/config/load.ts'
import { environmentFor, findRedis } from '../../src/embedded/redis/find.ts'
import { createLogger } from '../../src/runtime/log.ts'
import { openRedis, waitForRedis } from '../../src/store/redis.ts'
import { checkRedisPolicy } from '../../src/store/redis-policy.ts'
import { HOUSE } from '../house/tree.ts'
import { runScript } from '../support/deploy/health.ts'

interface Service {
  image: string
  build?: string
  command: string[]
  restart: string
  environment?: Record<string, string>
  ports?: string[]
  volumes?: string[]
  networks: string[]
  stop_grace_period: string
  user?: string
  read_only?: boolean
  tmpfs?: string[]
  cap_drop?: string[]
  cap_add?: string[]
  privileged?: boolean
  security_opt?: string[]
  mem_limit?: string
  pids_limit?: number
  depends_on?: Record<string, { condition: string }>
  healthcheck?: { test: string[] }
}

interface Compose {
  services: Record<'realtime' | 'admin' | 'redis' | 'mongo', Service>
  networks: Record<string, { internal?: boolean }>
  volumes: Record<string, object>
}

const text = readFileSync(join(HOUSE, 'docker-compose.yml'), 'utf8')
const { services, networks, volumes }: Compose = parse(interpolated(text), { merge: true })
const all = Object.entries(services)
const NODES = ['realtime', 'admin'] as const
const STORES = ['redis', 'mongo'] as const

/** As compose interpolates it if the operator has set no variable. */
function interpolated(document: string): string {
  return document.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name, byDefault) => {
    if (byDefault === undefined) throw new Error(`${name} has no default`)
    return byDefault
  })
}

/** With the files of the image in their place here. */
function here(environment: Record<string, string>): Record<string, string> {
  const { TOLLGATE_CONFIG: file = '' } = environment
  return { ...environment, TOLLGATE_CONFIG: file.replace(/^\/app\/dist\//, HOUSE) }
}

/** Bytes of `2g`, `512m` or, in Redis notation, `1gb`. */
function bytesOf(size: string): number {
  const [, count = '', unit = ''] = /^(\d+)([mg])b?$/.exec(size) ?? []
  return Number(count) * (unit === 'g' ? 1024 ** 3 : 1024 ** 2)
}

describe('docker-compose.yml', () => {
  it('has the node and its stores, each with a pinned version and restarted when it ends', () => {
    expect(Object.keys(services)).toEqual([...NODES, ...STORES])
    for (const [name, { image, restart }] of all) {
      expect(image, name).toMatch(/^[a-z]+:\d+\.\d+(\.\d+)?$/)
      expect(restart, name).toBe('unless-stopped')
    }
    const { version } = JSON.parse(readFileSync(join(HOUSE, 'package.json'), 'utf8'))
    for (const name of NODES) expect(services[name]).toMatchObject({ build: '.' })
    for (const name of NODES) expect(services[name].image).toBe(`tollgate:${version}`)
  })

  it.each(NODES)('sets only known and effective settings of %s', (name) => {
    const { environment = {}, command, ports, stop_grace_period } = services[name]
    const config = loadConfig({ env: here(environment) })
    const { NODE_OPTIONS: options, ...settings } = environment
    expect(options).toBe(name === 'realtime' ? '--max-semi-space-size=21' : undefined)
    expect(Object.keys(settings).every((one) => one.startsWith('TOLLGATE_'))).toBe(true)
    expect(command).toEqual([name])
    const sections = name === 'admin' ? (['admin'] as const) : (['realtime', 'diameter'] as const)
    const openTo = name === 'admin' ? 'nobody' : 'network'
    for (const section of sections) {
      expect(config[section]).toMatchObject({ host: '0.0.0.0', openTo })
    }
    const open = sections.map((section) => config[section].port)
    expect(ports).toEqual(open.map((port) => `127.0.0.1:${port}:${port}`))
    // A listener that it does not run is not opened.
    const other = name === 'admin' ? config.realtime : config.admin
    expect(other).toMatchObject({ host: '127.0.0.1' })
    expect(other.openTo).not.toBe('network')
    expect(new URL(config.redis.url).hostname).toBe('redis')
    expect(new URL(config.mongo.url).hostname).toBe('mongo')
    expect(Number.parseInt(stop_grace_period, 10) * 1000).toBeGreaterThan(config.shutdown.timeoutMs)
  })

  it.each(NODES)('has the settings of the demo of `npm start` in %s', (name) => {
    const { environment = {} } = services[name]
    const env = here(environment)
    expect(env['TOLLGATE_CONFIG']).toBe(DEMO_FILE)
    const ofDemo = loadConfig({ env: {}, file: DEMO_FILE }).rating
    expect(loadConfig({ env }).rating).toEqual(ofDemo)
    expect(currencyName(ofDemo.currencyCode)).toBe('GBP')
  })

  it('starts the node when its stores are healthy', () => {
    for (const name of NODES) {
      expect(Object.keys(services[name].depends_on ?? {})).toEqual([...STORES])
      for (const [store, { condition }] of Object.entries(services[name].depends_on ?? {})) {
        expect(condition).toBe('service_healthy')
        expect(services[store as 'redis'].healthcheck?.test[0]).toBe('CMD')
      }
    }
  })

  it('exposes the stores to the node only, and keeps their data', () => {
    expect(networks['stores']).toEqual({ internal: true })
    for (const store of STORES) {
      expect(services[store].networks).toEqual(['stores'])
      expect(services[store].ports).toBeUndefined()
    }
    const mounted = STORES.flatMap((store) => services[store].volumes ?? [])
    expect(mounted).toEqual(['redis:/data', 'mongo:/data/db', 'mongo-config:/data/configdb'])
    const kept = [...(services.admin.volumes ?? []), ...mounted]
    expect(Object.keys(volumes)).toEqual(kept.map((one) => one.split(':')[0]))
  })

  it('keeps the first password in the documented place, and passes it nowhere else', async () => {
    const { environment = {}, volumes: own, ports } = services.admin
    const image = readFileSync(join(HOUSE, 'Dockerfile'), 'utf8')
    const folder = /^ENV TOLLGATE_DATA_DIR=(\S+)$/m.exec(image)?.[1]
    expect(own).toContain(`admin:${folder}`)
    expect(text).toContain(`exec admin cat ${folder}/admin-password`)
    // Otherwise it would not listen; the port is published on this machine only.
    const config = loadConfig({ env: here(environment) })
    const hasGeneratedPassword = async () => true
    await checkListening({ config, hasGeneratedPassword })
    const { TOLLGATE_ADMIN_GENERATED_PASSWORD: _, ...without } = environment
    const stricter = { config: loadConfig({ env: here(without) }), hasGeneratedPassword }
    await expect(checkListening(stricter)).rejects.toThrow('generatedPassword')
    for (const port of ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
  })

  it('grants no container more than it needs', () => {
    for (const [name, service] of all) {
      expect(service, name).toMatchObject({
        read_only: true,
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
      expect([service.cap_add, service.privileged], name).toEqual([undefined, undefined])
      expect(service.pids_limit, name).toBeGreaterThan(0)
      expect(bytesOf(service.mem_limit ?? ''), name).toBeGreaterThan(0)
    }
    // The image of the node sets a user; the others would begin as root.
    for (const store of STORES) expect(services[store].user).toMatch(/^(?:redis|mongodb)$/)
  })

  it('allows each service to write only to its own folders and a temporary one', () => {
    const places = ({ volumes: own = [], tmpfs = [] }: Service) =>
      [...own, ...tmpfs].map((one) => one.replace(/^[a-z-]+:(?=\/)/, '').replace(/:.*$/, ''))
    expect(places(services.realtime)).toEqual(['/tmp'])
    expect(places(services.admin)).toEqual(['/data', '/tmp'])
    expect(places(services.redis)).toEqual(['/data', '/tmp'])
    expect(places(services.mongo)).toEqual(['/data/db', '/data/configdb', '/tmp'])
    // An upload of this size does not fit into the memory of the container.
    const { importBytesMax } = loadConfig({ env: {} }).entities
    expect(bytesOf(services.admin.mem_limit ?? '')).toBeLessThanOrEqual(importBytesMax)
    expect(services.admin.tmpfs).toBeUndefined()
    for (const service of [services.realtime, services.redis, services.mongo]) {
      expect(service.tmpfs).toEqual([expect.stringMatching(/^\/tmp:mode=1777,size=\d+m$/)])
    }
  })

  it('makes Redis refuse before its container is full, also while it rewrites its log', () => {
    const { command, mem_limit = '' } = services.redis
    const maxmemory = command[command.indexOf('--maxmemory') + 1] ?? ''
    expect(bytesOf(maxmemory)).toBeGreaterThan(0)
    expect(2 * bytesOf(maxmemory)).toBeLessThanOrEqual(bytesOf(mem_limit))
  })

  it('contains no secrets, and no variable without a default', () => {
    const settings = text.replace('TOLLGATE_ADMIN_GENERATED_PASSWORD: network', '')
    expect(settings).not.toMatch(/\/\/[^/\s]*:[^/\s]*@|passw?o?r?d?[:=]\s*\S/i)
    expect(() => interpolated('a: $' + '{B}')).toThrow('B has no default')
  })

  it('checks the health of the control plane at its address', async () => {
    const [, command, option, script = ''] = services.admin.healthcheck?.test ?? []
    expect([command, option]).toEqual(['node', '-e'])
    expect(script).toContain('http://127.0.0.1:8182/health/ready')
    expect(await runScript(script, 8182, 1)).toBe(1)
  })

  it('initiates the replica set that the node connects to', () => {
    const { command, healthcheck } = services.mongo
    const name = command[command.indexOf('--replSet') + 1]
    const { TOLLGATE_MONGO_URL: url = '' } = services.realtime.environment ?? {}
    expect(new URL(url).searchParams.get('replicaSet')).toBe(name)
    const script = healthcheck?.test.at(-1) ?? ''
    expect(script).toContain(`_id: '${name}'`)
    expect(script).toContain(`host: '${new URL(url).host}'`)
    // The script can at least be parsed.
    expect(() => new Function(script)).not.toThrow()
  })
})

describe('Redis with the command line of docker-compose.yml', () => {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-compose-'))
  let child: ChildProcess | undefined
  afterAll(async () => {
    if (child !== undefined && child.exitCode === null) {
      child.kill('SIGKILL')
      await once(child, 'exit')
    }
    rmSync(folder, { recursive: true, force: true })
  })

  it('is reliable enough for the ledger, without a warning', async () => {
    const program = await findRedis(folder)
    const [name, ...flags] = services.redis.command
    expect(name).toBe('redis-server')
    const socket = join(folder, 'redis.sock')
    const here = ['--port', '0', '--unixsocket', socket, '--dir', folder]
    child = spawn(program.command, [...flags, ...here], {
      ...environmentFor(program),
      stdio: 'ignore',
    })
    const lines: string[] = []
    const destination = { write: (line: string) => lines.push(line) }
    const limits = { commandTimeoutMs: 20_000, connectTimeoutMs: 20_000 }
    const quiet = createLogger({ name: 'test', level: 'silent' })
    const redis = openRedis({ url: `unix://${socket}`, ...limits }, quiet)
    try {
      await waitForRedis(redis, 20_000)
      await checkRedisPolicy(redis, createLogger({ name: 'test', level: 'warn', destination }))
      expect(lines).toEqual([])
      expect(await redis.client.config('GET', 'save')).toEqual(['save', ''])
    } finally {
      await redis.close()
    }
  })
})
