#!/usr/bin/env node
// Runs the built product. Builds nothing itself: that is what `npm start` does first.
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

// What this process and those that it starts write is not for everybody on this machine: files 0640,
// folders 0750, or less where the user's own mask says so.
process.umask(process.umask(0o027) | 0o027)

const main = new URL('../dist/src/main.js', import.meta.url)

if (existsSync(fileURLToPath(main))) {
  const { main: run } = await import(main.href)
  const code = await run(process.argv.slice(2))
  if (typeof code === 'number') process.exitCode = code
} else {
  const root = fileURLToPath(new URL('..', import.meta.url))
  process.stderr.write(
    `tollgate is not built: run 'npm start' in ${root}, or 'node scripts/setup.mjs' there first\n`,
  )
  process.exitCode = 1
}
