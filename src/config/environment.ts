/** Filters the environment for child processes. Imports nothing. */

export type Environment = Record<string, string | undefined>

/** Paths of programs, libraries and temporary files; language and time zone. */
const SYSTEM = [
  /^(?:PATH|HOME|USER|LOGNAME|SHELL|TZ|TZDIR|LANG|LANGUAGE|LC_\w+|TMPDIR|TMP|TEMP)$/i,
  /^(?:LD_\w+|DYLD_\w+|MALLOC_\w+|SYSTEMROOT|WINDIR|COMSPEC|PATHEXT)$/i,
]
/** Variables that Node and its libraries read. */
const NODE = /^(?:NODE_\w+|UV_\w+|SSL_CERT_FILE|SSL_CERT_DIR|OPENSSL_CONF)$/
/** Settings and their files. */
const SETTINGS = /^TOLLGATE_/

/** For third-party programs such as Redis: nothing that could be secret. */
export function systemEnvironment(env: Environment = process.env): Environment {
  return filtered(env, SYSTEM)
}

/** For processes of the product without settings, such as the embedded store. */
export function nodeEnvironment(env: Environment = process.env): Environment {
  return filtered(env, [...SYSTEM, NODE])
}

/** For processes of the product that use the settings of this one. */
export function settingsEnvironment(env: Environment = process.env): Environment {
  return filtered(env, [...SYSTEM, NODE, SETTINGS])
}

function filtered(env: Environment, names: readonly RegExp[]): Environment {
  const isKept = ([name]: [string, unknown]) => names.some((one) => one.test(name))
  return Object.fromEntries(Object.entries(env).filter(isKept))
}
