/** The environment of child processes that read the settings. */
import { resolve } from 'node:path'
import { type Environment, settingsEnvironment } from './environment.ts'
import { FILE_VARIABLE, valueVariableOf } from './layers.ts'
import { variableOf } from './schema.ts'

/**
 * The settings of this process with the given file and overrides (by path, as in `redis.url`).
 * Passed by environment, because command lines are visible to all users.
 */
export function childEnvironment(
  settings: Readonly<Record<string, string | number>>,
  file?: string,
  env: Environment = process.env,
): Environment {
  const inherited = Object.fromEntries(
    Object.entries(settings).map(([path, value]) => [variableOf(path), String(value)]),
  )
  const named = file === undefined ? {} : { [FILE_VARIABLE]: resolve(file) }
  const own = Object.entries(settingsEnvironment(env))
  // An override also replaces the `_FILE` variable of the setting.
  const others = own.filter(([name]) => !Object.hasOwn(inherited, valueVariableOf(name)))
  return { ...Object.fromEntries(others), ...named, ...inherited }
}
