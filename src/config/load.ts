import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Value } from '@sinclair/typebox/value'
import { LineCounter, parseDocument } from 'yaml'
import { ConfigError, type ConfigProblem, redactUrl } from './error.ts'
import { isLoopback, redirectProblem } from './hosts.ts'
import { documentLayer, environmentLayer, FILE_VARIABLE, type Layer } from './layers.ts'
import { memberProblems } from './places.ts'
import { type Config, ConfigSchema } from './schema.ts'
import { nativeTlsProblem } from './tls.ts'

export type LoadOptions = {
  /** YAML file of the operator; by default the file that TOLLGATE_CONFIG names, if any. */
  readonly file?: string
  /** Environment variables; by default those of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>
  /** True for commands and roles: `settings.yaml` in `data.dir` is read below the other file. */
  readonly withDataFolder?: boolean
  /**
   * True if `tollgate start` has started the process: it has checked `shutdown.timeoutMs` and
   * passes on a share of it.
   */
  readonly isPart?: boolean
}

/** The relative path is the same from src/config and from dist/src/config. */
export const DEFAULT_FILE = fileURLToPath(new URL('../../config/default.yaml', import.meta.url))
/** The same document; the build writes it, because JSON is read faster. */
const BUILT_DEFAULT_FILE = fileURLToPath(new URL('../../config/default.json', import.meta.url))

/**
 * The configuration of this process: the default document, then `settings.yaml` of the data folder,
 * then the file, then `TOLLGATE_*` variables. Throws a {@link ConfigError} that lists every problem
 * with its key and source.
 */
export function loadConfig(options: LoadOptions = {}): Config {
  const env = options.env ?? process.env
  const file = options.file ?? env[FILE_VARIABLE]
  const layers = [defaultLayer()]
  if (file !== undefined) layers.push(readLayer(file))
  layers.push(environmentLayer(env))
  if (options.withDataFolder) layers.splice(1, 0, ...dataFolderLayers(layers))

  const problems = layers.flatMap((layer) => layer.problems)
  if (problems.length > 0) throw new ConfigError(problems)
  const merged = merge(layers)
  if (!Value.Check(ConfigSchema, merged)) {
    const missing = [...Value.Errors(ConfigSchema, merged)].map(({ path }) => ({
      key: path.slice(1).replaceAll('/', '.'),
      source: DEFAULT_FILE,
      reason: 'is missing in the default document',
    }))
    throw new ConfigError(missing)
  }
  checkConsistency(merged, layers, options.isPart ?? false)
  return freeze(merged)
}

function defaultLayer(): Layer {
  if (!existsSync(BUILT_DEFAULT_FILE)) return readLayer(DEFAULT_FILE)
  return documentLayer(JSON.parse(readFileSync(BUILT_DEFAULT_FILE, 'utf8')), DEFAULT_FILE)
}

/** Settings of a data folder; `tollgate start` copies those of the demo there, with its demo. */
export const DATA_FOLDER_FILE = 'settings.yaml'
export const DEMO_FILE = fileURLToPath(new URL('../../config/demo.yaml', import.meta.url))

function dataFolderLayers(layers: readonly Layer[]): Layer[] {
  const set = layers.findLast(({ settings }) => settings.has('data.dir'))
  const file = join(String(set?.settings.get('data.dir')?.value), DATA_FOLDER_FILE)
  return existsSync(file) ? [readLayer(file)] : []
}

function readLayer(file: string): Layer {
  let text: string
  try {
    text = readFileSync(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : error
    throw new ConfigError([{ key: 'file', source: file, reason: `cannot be read: ${code}` }])
  }
  const lineCounter = new LineCounter()
  // Without prettyErrors the message does not quote the text, which may contain a password.
  const document = parseDocument(text, { prettyErrors: false, lineCounter })
  if (document.errors.length > 0) {
    const problems = document.errors.map((error) => ({
      key: `line ${lineCounter.linePos(error.pos[0]).line}`,
      source: file,
      reason: `is not YAML: ${redactUrl(error.message)}`,
    }))
    throw new ConfigError(problems)
  }
  try {
    return documentLayer(document.toJS(), file)
  } catch {
    throw new ConfigError([{ key: 'document', source: file, reason: 'has unusable aliases' }])
  }
}

interface Section {
  [key: string]: unknown
}

function merge(layers: readonly Layer[]): Section {
  const merged: Section = {}
  for (const layer of layers) {
    for (const [path, { value }] of layer.settings) {
      const names = path.split('.')
      const key = names.pop() ?? ''
      let section = merged
      for (const name of names) {
        section[name] ??= {}
        section = section[name] as Section
      }
      section[key] = value
    }
  }
  return merged
}

/**
 * A request in flight must be answered within the share of the time-out that `tollgate start` gives
 * to charging, about 0.39 of it (SHARES in cli/start.ts), with time left to end the threads.
 */
const SHUTDOWN_REQUESTS_MIN = 3

/** Checks settings that are valid separately but inconsistent together. */
function checkConsistency(config: Config, layers: readonly Layer[], isPart: boolean): void {
  const sourceOf = (path: string) =>
    layers.findLast((layer) => layer.settings.has(path))?.settings.get(path)?.source ?? DEFAULT_FILE
  const named = (path: string) => `${path} (${sourceOf(path)})`
  const problems: ConfigProblem[] = []
  const demand = (isMet: boolean, key: string, reason: string) => {
    if (!isMet) problems.push({ key, source: sourceOf(key), reason })
  }
  const { redis, realtime, session, ledger, shutdown } = config
  const needMs = session.validityMs + session.graceMs + ledger.replayMs
  const sum = ['session.validityMs', 'session.graceMs', 'ledger.replayMs'].map(named).join(' + ')
  demand(
    ledger.directoryTtlMs >= needMs,
    'ledger.directoryTtlMs',
    `must be at least ${needMs}, which is ${sum}`,
  )
  const { finalUnitAction, redirectAddress, redirectAddressType } = session
  if (finalUnitAction === 'redirect') {
    const reason = redirectProblem(redirectAddress, redirectAddressType)
    const type = named('session.redirectAddressType')
    demand(
      reason === undefined,
      'session.redirectAddress',
      `${reason}, because ${named('session.finalUnitAction')} is redirect, and ${type}`,
    )
  }
  checkTls(config, demand, named)
  checkTestClock(config, demand, named)
  checkRetention(config, demand, named)
  checkKafka(config, demand, named)
  const { backlogWarnPercent, backlogRefusePercent } = ledger
  demand(
    backlogRefusePercent > backlogWarnPercent,
    'ledger.backlogRefusePercent',
    `must be more than ${backlogWarnPercent}, which is ${named('ledger.backlogWarnPercent')}`,
  )
  demand(
    realtime.listeners === 1 || realtime.httpServer !== 'javascript',
    'realtime.listeners',
    `must be 1, because ${named('realtime.httpServer')} is javascript, which cannot share a port`,
  )
  for (const [key, most] of [
    ['listeners', 1],
    ['workers', 1],
  ] as const) {
    demand(
      realtime.workerKind !== 'inline' || realtime[key] <= most,
      `realtime.${key}`,
      `must be at most ${most}, because ${named('realtime.workerKind')} is inline`,
    )
  }
  const { requestTimeoutMs } = realtime
  const timeout = named('realtime.requestTimeoutMs')
  demand(
    redis.commandTimeoutMs < requestTimeoutMs,
    'redis.commandTimeoutMs',
    `must be less than ${requestTimeoutMs}, which is ${timeout}`,
  )
  const endMs = SHUTDOWN_REQUESTS_MIN * requestTimeoutMs
  demand(
    isPart || shutdown.timeoutMs >= endMs,
    'shutdown.timeoutMs',
    `must be at least ${endMs}, which is ${SHUTDOWN_REQUESTS_MIN} × ${timeout}`,
  )
  for (const { setting, error } of memberProblems(config)) {
    problems.push({ key: error.key, source: sourceOf(setting), reason: error.reason })
  }
  if (problems.length > 0) throw new ConfigError(problems)
}

/** The line of a record is what tells a repetition of it from a record that was not charged yet. */
function checkRetention(
  { retention, rating }: Config,
  demand: (isMet: boolean, key: string, reason: string) => void,
  named: (path: string) => string,
): void {
  // A month more: a record may wait in the queue, or in a file under way, when it becomes too old.
  const daysMin = 31 * (rating.recordAgeMonthsMax + 1)
  demand(
    retention.linesDays === 0 || retention.linesDays >= daysMin,
    'retention.linesDays',
    `must be 0 or at least ${daysMin}, which is 31 × (${named('rating.recordAgeMonthsMax')} + 1)`,
  )
}

function checkKafka(
  { export: { kafka } }: Config,
  demand: (isMet: boolean, key: string, reason: string) => void,
  named: (path: string) => string,
): void {
  const at = 'export.kafka'
  const { brokers, topic, tls, mechanism } = kafka
  const set = `must be set, because ${named(`${at}.brokers`)} is`
  demand(brokers.length === 0 || topic !== '', `${at}.topic`, set)
  const login = `${named(`${at}.mechanism`)} is ${mechanism}`
  for (const key of ['username', 'password'] as const) {
    const isMet = (kafka[key] === '') === (mechanism === 'none')
    const must = mechanism === 'none' ? 'must be empty' : 'must be set'
    demand(isMet, `${at}.${key}`, `${must}, because ${login}`)
  }
  demand(tls || mechanism !== 'PLAIN', `${at}.tls`, `must be true, because ${login}`)
  for (const key of ['caFile', 'certFile', 'keyFile'] as const) {
    const reason = `must be empty, because ${named(`${at}.tls`)} is false`
    demand(tls || kafka[key] === '', `${at}.${key}`, reason)
  }
  const pair = (key: 'certFile' | 'keyFile', other: 'certFile' | 'keyFile') =>
    demand(
      kafka[other] === '' || kafka[key] !== '',
      `${at}.${key}`,
      `must name a file, because ${named(`${at}.${other}`)} does`,
    )
  pair('certFile', 'keyFile')
  pair('keyFile', 'certFile')
}

/** A test clock charges and removes data ahead of time: it is refused where others rely on them. */
function checkTestClock(
  { clock, admin, audit }: Config,
  demand: (isMet: boolean, key: string, reason: string) => void,
  named: (path: string) => string,
): void {
  if (!clock.test) return
  const because = `because ${named('clock.test')} is true, which is for tests only`
  demand(isLoopback(admin.host), 'admin.host', `must be an address of this machine, ${because}`)
  const { host } = audit.syslog
  const reason = `must be empty or an address of this machine, ${because}`
  demand(host === '' || isLoopback(host), 'audit.syslog.host', reason)
}

/** `named` returns a setting's path and source. */
function checkTls(
  config: Config,
  demand: (isMet: boolean, key: string, reason: string) => void,
  named: (path: string) => string,
): void {
  for (const name of ['realtime', 'diameter', 'admin'] as const) {
    const { tls } = config[name]
    for (const key of ['certFile', 'keyFile'] as const) {
      const reason = `must name a file, because ${named(`${name}.tls.enabled`)} is true`
      demand(!tls.enabled || tls[key] !== '', `${name}.tls.${key}`, reason)
    }
  }
  const { realtime, diameter } = config
  demand(
    !diameter.tls.only || diameter.tls.enabled,
    'diameter.tls.only',
    'needs diameter.tls.enabled',
  )
  const problem = realtime.tls.enabled ? nativeTlsProblem(realtime.tls) : null
  const because = `uWebSockets.js cannot serve realtime.tls as it is set: ${problem}`
  demand(
    problem === null || realtime.httpServer !== 'native',
    'realtime.httpServer',
    `must be auto or javascript, because ${because}`,
  )
  demand(
    problem === null || realtime.listeners === 1,
    'realtime.listeners',
    `must be 1, because ${because}, and the JavaScript server cannot share a port`,
  )
}

function freeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    for (const child of Object.values(value)) freeze(child)
    Object.freeze(value)
  }
  return value
}
