import { type DestinationStream, type Logger as PinoLogger, pino, stdTimeFunctions } from 'pino'
import type { Config } from '../config/schema.ts'
import { createMasker, MASK } from './mask.ts'

/** The logger that every room receives. */
export type Logger = PinoLogger

export type LoggerOptions = {
  /** Which process or thread writes: `realtime`, `admin`, `worker-1`. */
  readonly name: string
  readonly level: Config['log']['level']
  /** Where the lines go; without it standard output. */
  readonly destination?: DestinationStream
}

/**
 * One JSON line per event. Secrets are masked at every level; subscriber numbers unless the level
 * is debug or trace. Everything handed over is masked, but a number inside a message is not
 * recognised: a message is a constant, what varies belongs into the object before it.
 */
export function createLogger(options: LoggerOptions): Logger {
  const showSubscribers = options.level === 'debug' || options.level === 'trace'
  const masker = createMasker({ showSubscribers })
  // The bindings of child loggers do not pass the hook below, only serializers, by name.
  const hide = Object.fromEntries(masker.names.map((name) => [name, () => MASK]))
  return pino(
    {
      name: options.name,
      level: options.level,
      base: { pid: process.pid },
      timestamp: stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      // Errors have been cut already when pino comes to them; its own serializer would add to them.
      serializers: { ...hide, err: (cut: unknown) => cut, req: requestFields, res: responseFields },
      hooks: {
        logMethod(args, method) {
          const [first, ...rest] = args as unknown[]
          const record = first instanceof Error ? { err: first } : first
          method.apply(this, [record, ...rest].map(masker.value) as typeof args)
        },
      },
    },
    options.destination ?? pino.destination({ dest: 1, sync: true }),
  )
}

/** What is written of an HTTP request; the query may hold tokens and numbers. */
function requestFields(request: { readonly method?: unknown; readonly url?: unknown }) {
  return { method: request.method, path: String(request.url ?? '').replace(/\?.*$/s, '') }
}

function responseFields(response: { readonly statusCode?: unknown }) {
  return { statusCode: response.statusCode }
}
