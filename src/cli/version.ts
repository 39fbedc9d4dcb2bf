import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { findTree } from '../config/tree.ts'

/** The product version in package.json; works from the sources and from dist. */
export function versionOf(): string {
  const { version } = JSON.parse(readFileSync(join(findTree(), 'package.json'), 'utf8'))
  return String(version)
}

/** How a user calls a command here: `tollgate` is an npm script in a clone only. */
export function commandLine(tree = findTree()): string {
  return existsSync(join(tree, 'scripts/setup.mjs')) ? 'npm run -s tollgate --' : 'npx tollgate'
}
