/** The environment of processes with settings that this one starts. */
import { resolve } from 'node:path'
import { type Environment, settingsEnvironment } from './environment.ts'
import { FILE_VARIABLE, valueVariableOf } from './layers.ts'
import { variableOf } from './schema.ts'

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
  const own = Object.entries(settingsEnvironment(env))
  // A given value also replaces a `_FILE` variable for the same setting.
  const others = own.filter(([name]) => !Object.hasOwn(given, valueVariableOf(name)))
  return { ...Object.fromEntries(others), ...named, ...given }
}
