/** `tollgate start`: runs everything on one machine, supervises it, and stops it in order. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { DEMO_RECEIVER, hasDemo } from '../catalog/demo.ts'
import { DATA_FOLDER_FILE, DEMO_FILE } from '../config/load.ts'
import type { Config } from '../config/schema.ts'
import { FolderInUseError, type FolderLock, lockFolder } from '../embedded/folder-lock.ts'
import { runDirFor } from '../embedded/run-dir.ts'
import { closeFolderToOthers } from '../runtime/file-modes.ts'
import { createLogger, type Logger } from '../runtime/log.ts'
import { createShutdown } from '../runtime/shutdown.ts'
import { type Child, type ChildOptions, startChild, startStandby } from './child.ts'
import { type StoreOptions, startMongoStore, startRedisStore } from './embedded-stores.ts'
import { CommandError } from './errors.ts'
import { demoLines, greetingLines, loginLines, lostLines } from './greeting.ts'
import { type Logs, openLogs } from './logs.ts'
import { RedisLeftError } from './redis-left.ts'
import { seedStores } from './seed.ts'
import type { Shell } from './shell.ts'
import { withStores, withStoreUrls } from './stores.ts'
import { createSupervisor, type StandbyProcess, type Supervisor } from './supervisor.ts'

type RoleStarted = 'realtime' | 'admin' | 'recorder' | 'sources'

/**
 * Shares of `shutdown.timeoutMs`: all parts together fit into it, and each into the half of the
 * remaining time that a shutdown step has. `checkConsistency` (config/load.ts) ensures that the
 * share of realtime suffices to answer the requests in flight.
 */
const SHARES = {
  realtime: 0.48,
  admin: 0.1,
  sources: 0.05,
  recorder: 0.1,
  mongo: 0.1,
  redis: 0.1,
} as const
/** Each stop has its own time limit; stopping Redis may need nearly all of the remaining time. */
const STOP_SHARE = 0.95
/** Part of its share in which a process may exit before it is killed. */
const ORDERLY = 0.9
/** More than charging gives its workers, whose error is better than that of this limit. */
const ROLE_START_TIMEOUT_MS = 180_000
const SHUTDOWN_MS_MIN = 100
/**
 * The young generation of charging is 64 MB, as in worker threads (realtime/worker-thread.ts), also
 * with little memory, where V8 chooses a smaller one, which costs time if the worker is inline.
 */
const YOUNG_GENERATION = ['--max-semi-space-size=21']

interface StartContext {
  readonly config: Config
  readonly shell: Shell
  readonly dataDir: string
  readonly runDir: string
  readonly log: Logger
  readonly logs: Logs
  /** Ports by setting, so that a restarted role listens on the same ports. */
  readonly ports: Map<string, number>
  /** `external.privateRanges` of the roles. */
  readonly privateRanges: string[]
}

/**
 * Starts everything and leaves it running until a signal. If the start fails, stops everything and
 * rejects.
 */
export async function start(shell: Shell): Promise<undefined> {
  const config = shell.config()
  const dataDir = resolve(config.data.dir)
  const runDir = runDirFor(dataDir)
  closeFolderToOthers(dataDir)
  const lock = await lockData(config, runDir)
  const logs = openLogs(shell, join(dataDir, 'logs'))
  const log = createLogger({
    name: 'tollgate',
    level: config.log.level,
    destination: { write: logs.sink('tollgate') },
  })
  const privateRanges = [...config.external.privateRanges]
  const common = { config, shell, dataDir, runDir, log, logs }
  const context: StartContext = { ...common, ports: new Map(), privateRanges }
  const stores = storeSupervisors(context)
  const roles = roleSupervisors(context)
  const timeoutMs = config.shutdown.timeoutMs + config.shutdown.writeTimeoutMs
  const shutdown = createShutdown({ timeoutMs, log })
  let isUp = false
  shutdown.add('lock', async () => {
    await lock.release()
    if (isUp) shell.print('tollgate has stopped')
  })
  for (const [name, supervisor] of [...stores, ...roles]) {
    const stop = () => supervisor.stop().catch((error) => reportRedisLeft(shell, error))
    shutdown.add(name, stop, STOP_SHARE)
  }
  shutdown.add('notice', () => {
    if (isUp) shell.print('tollgate is stopping')
  })
  shutdown.listen()
  try {
    await Promise.all(stores.map(([, supervisor]) => supervisor.start()))
    await prepareStores(context)
    await Promise.all(roles.map(([, supervisor]) => supervisor.start()))
    isUp = true
    await greet(context)
  } catch (error) {
    await shutdown.run('start failed')
    throw error
  }
  return undefined
}

/** Printed to the terminal immediately: the exit code is 1, and the log may be on a full disk. */
function reportRedisLeft(shell: Shell, error: unknown): never {
  if (error instanceof RedisLeftError) shell.printError(`tollgate: ${error.message}`)
  throw error
}

async function lockData(config: Config, runDir: string): Promise<FolderLock> {
  try {
    return await lockFolder(runDir, 'supervisor')
  } catch (error) {
    if (!(error instanceof FolderInUseError)) throw error
    const who = error.ownerPid === undefined ? '' : ` (process ${error.ownerPid})`
    throw new CommandError(`tollgate is already running in ${config.data.dir}${who}`)
  }
}

type NamedSupervisor = readonly [name: string, supervisor: Supervisor]

/** Only embedded stores are supervised; external ones are managed elsewhere. */
function storeSupervisors(context: StartContext): NamedSupervisor[] {
  const { config, shell, dataDir, runDir, log, logs } = context
  const supervisorOf = (
    name: 'redis' | 'mongo',
    begin: (options: StoreOptions) => ReturnType<typeof startRedisStore>,
  ): NamedSupervisor => {
    const stopTimeoutMs = SHARES[name] * config.shutdown.timeoutMs
    const onLine = logs.sink(name)
    const options = { config, dataDir, runDir, log, onLine, stopTimeoutMs }
    return [name, createSupervisor({ name, begin: () => begin(options), log })]
  }
  return [
    ...(config.redis.url === 'embedded'
      ? [supervisorOf('redis', (options) => startRedisStore(shell, options))]
      : []),
    ...(config.mongo.url === 'embedded' ? [supervisorOf('mongo', startMongoStore)] : []),
  ]
}

/**
 * In start order; they stop in reverse order, charging first. The recorder does not share the event
 * loop of the admin API.
 */
function roleSupervisors(context: StartContext): NamedSupervisor[] {
  const recorder = context.config.recorder.enabled ? (['recorder'] as const) : []
  const hasSources = Object.keys(context.config.intake.sources).length > 0
  const sources = hasSources ? (['sources'] as const) : []
  return [...recorder, ...sources, 'admin' as const, 'realtime' as const].map((name) => {
    const { config, log, logs } = context
    const onLine = logs.sink(name)
    const begin = () => startRole(context, name, onLine)
    const prepare = () => prepareRole(context, name, onLine)
    const hasStandby = name === 'realtime' && config.realtime.standby
    return [name, createSupervisor({ name, begin, prepare: hasStandby ? prepare : undefined, log })]
  })
}

async function startRole(
  context: StartContext,
  name: RoleStarted,
  onLine: (line: string) => void,
): Promise<Child> {
  const child = await startChild(childOptions(context, name, onLine))
  keepPorts(context, child)
  return child
}

/** A standby process of a role that has loaded everything and can take over immediately. */
function prepareRole(
  context: StartContext,
  name: RoleStarted,
  onLine: (line: string) => void,
): StandbyProcess {
  const standby = startStandby(childOptions(context, name, onLine))
  return {
    ...standby,
    async takeOver() {
      const child = await standby.takeOver()
      keepPorts(context, child)
      return child
    },
  }
}

function keepPorts({ ports }: StartContext, child: Child): void {
  for (const [setting, port] of Object.entries(child.ports)) ports.set(setting, port)
}

function childOptions(
  { shell, config, log, ports, privateRanges }: StartContext,
  name: RoleStarted,
  onLine: (line: string) => void,
): ChildOptions {
  const { redis, mongo } = withStoreUrls(config)
  const stopTimeoutMs = SHARES[name] * config.shutdown.timeoutMs
  const settings = {
    'redis.url': redis.url,
    'mongo.url': mongo.url,
    'external.privateRanges': privateRanges.join(','),
    ...Object.fromEntries(ports),
    ...(name === 'admin' ? { 'recorder.enabled': 'false' } : {}),
    'shutdown.timeoutMs': Math.max(SHUTDOWN_MS_MIN, Math.floor(stopTimeoutMs * ORDERLY)),
  }
  return {
    name,
    file: new URL('../role-process.js', import.meta.url),
    args: [name],
    execArgv: name === 'realtime' ? YOUNG_GENERATION : [],
    env: shell.environmentWith(settings),
    onLine,
    startTimeoutMs: ROLE_START_TIMEOUT_MS,
    stopTimeoutMs,
    silence: silenceOf(config, name, log),
  }
}

function silenceOf({ realtime: { silenceMs: forMs } }: Config, part: RoleStarted, log: Logger) {
  const onKill = () => log.error({ part, silenceMs: forMs }, `${part} does not run and is killed`)
  return { forMs, onKill }
}

/** Seeds the demo catalogue only into an embedded store, and allows the receiver of its rule. */
async function prepareStores({ config, dataDir, log, privateRanges }: StartContext): Promise<void> {
  if (config.mongo.url !== 'embedded') return
  await withStores(config, async (stores) => {
    // A lost ledger cannot be credited, and recorded data must not mix with a demo.
    if (stores.lost.length === 0) {
      const entities = await seedStores(stores, config, stores.clock)
      if (entities > 0) {
        log.info({ entities }, 'demo catalogue created')
        writeDemoSettings(dataDir)
      }
    }
    const isAllowed = privateRanges.includes(DEMO_RECEIVER)
    if (!isAllowed && (await hasDemo(stores.catalog))) privateRanges.push(DEMO_RECEIVER)
  })
}

/** The operator's own file of that name is kept. Roles, which start next, read it. */
function writeDemoSettings(dataDir: string): void {
  try {
    // A copy would have the mode of the installed file.
    writeFileSync(join(dataDir, DATA_FOLDER_FILE), readFileSync(DEMO_FILE), { flag: 'wx' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

async function greet({ shell, config, dataDir, ports }: StartContext): Promise<void> {
  const realtime = addressOf(config.realtime, ports.get('realtime.port') ?? 0)
  const admin = addressOf(config.admin, ports.get('admin.port') ?? 0)
  const more = await withStores(config, async ({ catalog, clock, lost }) => [
    ...(lost.length > 0 ? lostLines() : []),
    ...(await demoLines(catalog, `${realtime}/realtime`, clock.nowMs())),
  ])
  const diameter = [
    diameterAddress(config, ports.get('diameter.port'), ''),
    diameterAddress(config, ports.get('diameter.tls.port'), ' (TLS)'),
  ].flatMap((address) => address ?? [])
  const lines = greetingLines({ realtime, admin, diameter, dataDir })
  for (const line of [...lines, ...loginLines(dataDir), ...more]) shell.print(line)
}

function diameterAddress({ diameter }: Config, port: number | undefined, kind: string) {
  return port === undefined ? null : `${authorityOf(diameter.host, port)}${kind}`
}

function addressOf({ host, tls }: Config['realtime' | 'admin'], port: number): string {
  return `${tls.enabled ? 'https' : 'http'}://${authorityOf(host, port)}`
}

function authorityOf(host: string, port: number): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}
