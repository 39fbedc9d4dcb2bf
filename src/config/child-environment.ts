/** What the processes that this one starts get of its environment: no more than they need. */
import { resolve } from 'node:path'
import { FILE_VARIABLE, valueVariableOf } from './layers.ts'
import { variableOf } from './schema.ts'

type Environment = Record<string, string | undefined>

/** Where programs, libraries and temporary files are, and which language and time zone it is. */
const SYSTEM = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TZ|TZDIR|LANG|LANGUAGE|LC_\w+|TMPDIR|TMP|TEMP)$/i,
  /^(?:LD_\w+|DYLD_\w+|MALLOC_\w+|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT)$/i,
]
/** What Node, and the libraries in it, read. */
const NODE = /^(?:NODE_\w+|UV_\w+|SSL_CERT_FILE|SSL_CERT_DIR|OPENSSL_CONF)$/
/** Settings, and files of settings. */
const SETTINGS = /^TOLLGATE_/

/** Of a program that others wrote, as Redis: nothing that could be secret. */
export function systemEnvironment(env: Environment = process.env): Environment {
  return kept(env, SYSTEM)
}

/** Of a process of our own that has no settings, as the embedded store. */
export function nodeEnvironment(env: Environment = process.env): Environment {
  return kept(env, [...SYSTEM, NODE])
}

/**
 * Of a process with settings: those of this one, with the file and some settings (by path, as in
 * `redis.url`) given. Here and not on a command line, which everybody can read.
 */
export function childEnvironment(
  settings: Readonly<Record<string, string | number>>,
  file?: string,
  env: Environment = process.env,
): Environment {
  const given = Object.fromEntries(
    Object.entries(settings).map(([path, value]) => [variableOf(path), String(value)]),
  )
  const named = file === undefined ? {} : { [FILE_VARIABLE]: resolve(file) }
  const own = Object.entries(kept(env, [...SYSTEM, NODE, SETTINGS]))
  // A given value also replaces a `_FILE` variable for the same setting.
  const others = own.filter(([name]) => !Object.hasOwn(given, valueVariableOf(name)))
  return { ...Object.fromEntries(others), ...named, ...given }
}

function kept(env: Environment, names: readonly RegExp[]): Environment {
  const isKept = ([name]: [string, unknown]) => names.some((one) => one.test(name))
  return Object.fromEntries(Object.entries(env).filter(isKept))
}
