/** What of the environment of this process others may know that it starts. Imports nothing. */

export type Environment = Record<string, string | undefined>

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
  return filtered(env, SYSTEM)
}

/** Of a process of our own that has no settings, as the embedded store. */
export function nodeEnvironment(env: Environment = process.env): Environment {
  return filtered(env, [...SYSTEM, NODE])
}

/** Of a process of our own that has the settings of this one. */
export function settingsEnvironment(env: Environment = process.env): Environment {
  return filtered(env, [...SYSTEM, NODE, SETTINGS])
}

function filtered(env: Environment, names: readonly RegExp[]): Environment {
  const isKept = ([name]: [string, unknown]) => names.some((one) => one.test(name))
  return Object.fromEntries(Object.entries(env).filter(isKept))
}
