/** A real Redis Cluster on loopback: masters with a replica each, any of which can be killed. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import { environmentFor, findRedis, type RedisProgram } from '../../../src/embedded/redis/find.ts'
import { waitUntil } from '../wait.ts'
import { choosePort } from './ports.ts'

const MASTERS = 3
const SLOTS = 16_384
/**
 * How long a node is silent before the others consider it failed, ms: longer than a busy machine
 * stops a process.
 */
const NODE_TIMEOUT_MS = 5_000
/** Another process may use a port between its choice and the start. */
const PORT_ATTEMPTS = 5

export interface ClusterNode {
  readonly port: number
  readonly pid: number
  readonly client: Redis
  /** `kill -9`; resolves when the process has ended. */
  kill9(): Promise<void>
  /** Starts it again with its data. */
  start(): Promise<void>
}

export interface TestCluster {
  url: string
  nodes: readonly ClusterNode[]
  /** The current masters, as the running nodes report them. */
  masters(): Promise<ClusterNode[]>
  /** Resolves when every slot is served and each of `masters` masters has a replica in sync. */
  untilWhole(masters: number, replicas: number): Promise<void>
  /** Whether replicas take over from masters that have failed; at first they do. */
  takeOver(isAllowed: boolean): Promise<void>
  close(): Promise<void>
}

/** Needs a redis-server; throws what `findRedis` throws. */
export async function startTestCluster(): Promise<TestCluster> {
  const folder = mkdtempSync(join(realpathSync(tmpdir()), 'tg-cluster-'))
  const program = await findRedis(folder)
  const nodes: Node[] = []
  const cluster = new RunningCluster(folder, nodes)
  try {
    for (let index = 0; index < MASTERS * 2; index += 1) {
      nodes.push(await startNode(program, join(folder, String(index))))
    }
    await cluster.join()
    return cluster
  } catch (error) {
    await cluster.close()
    throw error
  }
}

async function startNode(program: RedisProgram, folder: string): Promise<Node> {
  for (let attempt = 1; ; attempt += 1) {
    const node = new Node(program, folder, await choosePort())
    try {
      await node.start()
      return node
    } catch (error) {
      await node.close()
      if (attempt === PORT_ATTEMPTS) throw error
    }
  }
}

class Node implements ClusterNode {
  readonly port: number
  readonly client: Redis
  readonly #program: RedisProgram
  readonly #folder: string
  #child: ChildProcess | undefined

  constructor(program: RedisProgram, folder: string, port: number) {
    this.#program = program
    this.#folder = folder
    this.port = port
    this.client = new Redis({ port, host: '127.0.0.1', lazyConnect: true, maxRetriesPerRequest: 1 })
    this.client.on('error', () => undefined)
    mkdirSync(folder, { recursive: true })
  }

  get pid(): number {
    if (this.#child?.pid === undefined) throw new Error(`node ${this.port} does not run`)
    return this.#child.pid
  }

  get isRunning(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && !this.#child.signalCode
  }

  async start(): Promise<void> {
    const settings = {
      port: this.port,
      bind: '127.0.0.1',
      dir: this.#folder,
      save: '',
      daemonize: 'no',
      appendonly: 'yes',
      appendfsync: 'everysec',
      'maxmemory-policy': 'noeviction',
      'cluster-enabled': 'yes',
      'cluster-node-timeout': NODE_TIMEOUT_MS,
      // A missing part must not stop the others; and no replica is too old to be promoted.
      'cluster-require-full-coverage': 'no',
      'cluster-replica-validity-factor': 0,
      'repl-diskless-sync-delay': 0,
    }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    const environment = environmentFor(this.#program)
    this.#child = spawn(this.#program.command, args, { ...environment, stdio: 'ignore' })
    await waitUntil(`node ${this.port} answers`, async () => {
      if (!this.isRunning) throw new Error(`node ${this.port} has ended`)
      const answer = await this.client.ping().catch(() => '')
      return answer === 'PONG'
    })
  }

  async kill9(): Promise<void> {
    if (!this.isRunning) return
    const ended = once(this.#child as ChildProcess, 'exit')
    this.#child?.kill('SIGKILL')
    await ended
  }

  async close(): Promise<void> {
    await this.kill9()
    this.client.disconnect()
  }
}

class RunningCluster implements TestCluster {
  readonly nodes: readonly Node[]
  readonly #folder: string

  constructor(folder: string, nodes: readonly Node[]) {
    this.#folder = folder
    this.nodes = nodes
  }

  get url(): string {
    return `redis-cluster://${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
  }

  /** Joins the nodes into one cluster: the first half are masters, the others their replicas. */
  async join(): Promise<void> {
    const [first, ...others] = this.nodes.map((node) => node.client) as [Redis, ...Redis[]]
    for (const node of this.nodes.slice(1)) await first.cluster('MEET', '127.0.0.1', node.port)
    for (let index = 0; index < MASTERS; index += 1) {
      const from = Math.ceil((SLOTS * index) / MASTERS)
      const to = Math.ceil((SLOTS * (index + 1)) / MASTERS)
      const slots = Array.from({ length: to - from }, (_, offset) => from + offset)
      await this.nodes[index]?.client.cluster('ADDSLOTS', ...slots)
    }
    for (const client of [first, ...others]) {
      await waitUntil('the nodes know each other', async () => {
        const known = String(await client.cluster('NODES'))
        return known.trim().split('\n').length === this.nodes.length && !/handshake/.test(known)
      })
    }
    for (let index = 0; index < MASTERS; index += 1) {
      const id = await this.nodes[index]?.client.cluster('MYID')
      await this.nodes[index + MASTERS]?.client.cluster('REPLICATE', String(id))
    }
    await this.untilWhole(MASTERS, 1)
  }

  async masters(): Promise<Node[]> {
    const roles = await Promise.all(this.nodes.map((node) => roleOf(node)))
    return this.nodes.filter((_, index) => roles[index]?.role === 'master')
  }

  async untilWhole(masters: number, replicas: number): Promise<void> {
    await waitUntil('the cluster is complete', async () => {
      const living = this.nodes.filter((node) => node.isRunning)
      const states = await Promise.all(
        living.map(({ client }) => client.cluster('INFO').catch(() => '')),
      )
      if (!states.every((info) => isServed(String(info)))) return false
      const roles = (await Promise.all(living.map(roleOf))).filter(({ role }) => role === 'master')
      return roles.length === masters && roles.every(({ online }) => online >= replicas)
    })
  }

  async takeOver(isAllowed: boolean): Promise<void> {
    const value = isAllowed ? 'no' : 'yes'
    for (const { client, isRunning } of this.nodes) {
      if (isRunning) await client.config('SET', 'cluster-replica-no-failover', value)
    }
  }

  async close(): Promise<void> {
    for (const node of this.nodes) await node.close()
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

function isServed(info: string): boolean {
  return info.includes('cluster_state:ok') && info.includes(`cluster_slots_ok:${SLOTS}`)
}

/**
 * A master without replicas may still report itself as master, without any replica online. One that
 * has been sent its copy counts as online, at offset 0 until it has loaded it.
 */
async function roleOf({ client, isRunning }: Node): Promise<{ role: string; online: number }> {
  const info = isRunning ? await client.info('replication').catch(() => '') : ''
  const role = /^role:(\w+)/m.exec(info)?.[1] ?? 'away'
  return { role, online: (info.match(/state=online,offset=[1-9]/g) ?? []).length }
}
