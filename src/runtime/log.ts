import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino'
import type { Config } from '../config/schema.ts'
import { createMasker, MASK } from './mask.ts'

/** The logger that every module receives. */
export type Logger = PinoLogger

export type LoggerOptions = {
  /** The process or thread that logs: `realtime`, `admin`, `worker-1`. */
  readonly name: string
  readonly level: Config['log']['level']
  /** Destination; standard output by default. */
  readonly destination?: DestinationStream
}

/**
 * One JSON line per event. Secrets are masked at every level; subscriber numbers unless the level
 * is debug or trace. All values are masked, but a number inside a message text is not recognised:
 * the message must be a constant, and variable parts belong into the object before it.
 */
export function createLogger(options: LoggerOptions): Logger {
  const showSubscribers = options.level === 'debug' || options.level === 'trace'
  const masker = createMasker({ showSubscribers })
  // Bindings of child loggers bypass the hook below; only serializers, by name, apply to them.
  const hide = Object.fromEntries(masker.names.map((name) => [name, () => MASK]))
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // The hook has already reduced errors; pino's own serializer would add fields again.
      serializers: { ...hide, err: (cut: unknown) => cut, req: requestFields, res: responseFields },
      hooks: {
        logMethod(args, method) {
          const [first, ...rest] = args as unknown[]
          const record = first instanceof Error ? { err: first } : first
          const [masked, ...others] = [record, ...rest].map(masker.value)
          method.apply(this, [withoutTwice(this, masked), ...others] as typeof args)
        },
      },
    },
    options.destination ?? pino.destination({ dest: 1, sync: true }),
  )
}

/** Keys of every line. */
const OWN_KEYS = ['level', 'time', 'pid', 'name', 'msg']
const keysOfLoggers = new WeakMap<object, ReadonlySet<string>>()

/** pino writes a key of the line and an equal one of the record: the latter is renamed. */
function withoutTwice(log: PinoLogger, record: unknown): unknown {
  if (typeof record !== 'object' || record === null) return record
  const known = keysOfLoggers.get(log) ?? new Set([...OWN_KEYS, ...Object.keys(log.bindings())])
  keysOfLoggers.set(log, known)
  if (!Object.keys(record).some((key) => known.has(key))) return record
  const renamed = Object.entries(record).map(([key, value]) => [
    known.has(key) ? `record_${key}` : key,
    value,
  ])
  return Object.fromEntries(renamed)
}

/** Logged fields of an HTTP request; without the query, which may contain tokens and numbers. */
function requestFields(request: { readonly method?: unknown; readonly url?: unknown }) {
  return { method: request.method, path: String(request.url ?? '').replace(/\?.*$/s, '') }
}

function responseFields(response: { readonly statusCode?: unknown }) {
  return { statusCode: response.statusCode }
}
