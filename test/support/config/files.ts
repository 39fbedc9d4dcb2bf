/** Configuration files for tests, and the errors that they cause. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ConfigError } from '../../../src/config/error.ts'
import { loadConfig } from '../../../src/config/load.ts'

export const folder = mkdtempSync(join(tmpdir(), 'tollgate-config-'))
// At the end of the worker, which runs the tests of several files.
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))

let files = 0
export function fileWith(text: string): string {
  files += 1
  const file = join(folder, `${files}.yaml`)
  writeFileSync(file, text)
  return file
}

export function problemsOf(options: Parameters<typeof loadConfig>[0]): ConfigError {
  try {
    loadConfig({ env: {}, ...options })
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('the configuration was accepted')
}
