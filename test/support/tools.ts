import { accessSync, constants } from 'node:fs'
import { delimiter, join } from 'node:path'

/** Daemons are installed in folders that are missing in the PATH of an ordinary user. */
const DAEMON_FOLDERS = ['/usr/sbin', '/usr/local/sbin']

/**
 * Absolute path of an external program that a test runs beside the product, such as tshark.
 * `.ci/run` hides these programs on the PATH, so that everything else runs as on a new machine, and
 * names their folders in `TEST_TOOLS_PATH`.
 */
export function toolPath(name: string): string | undefined {
  const folders = [process.env['TEST_TOOLS_PATH'], process.env['PATH']]
    .flatMap((path) => path?.split(delimiter) ?? [])
    .filter((folder) => folder !== '')
  return [...folders, ...DAEMON_FOLDERS]
    .map((folder) => join(folder, name))
    .find((path) => isExecutable(path))
}

/**
 * The browser of the tests; undefined without one: they are skipped. The shell has no user
 * interface to draw, and is faster.
 */
export const CHROMIUM = toolPath('chromium-headless-shell') ?? toolPath('chromium')

/** The whole browser, which shows PDF files as well. */
export const CHROMIUM_WITH_PDF = toolPath('chromium')

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}
