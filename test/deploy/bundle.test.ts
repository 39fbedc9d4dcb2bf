/** The built files. A process runs them: only there is the stack of a defect that of a bundle. */
import { spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { HOUSE, readTree } from '../house/tree.ts'

const script = pathToFileURL(join(HOUSE, 'scripts/bundle.mjs')).href
const EXTERNAL: readonly string[] = (await import(script)).EXTERNAL
const { packages } = JSON.parse(readFileSync(join(HOUSE, 'package-lock.json'), 'utf8'))
/** Texts of the files that the product may load, by path; benchmarks have others in that folder. */
const built = new Map<string, string>()
function load(path: string): void {
  if (built.has(path)) return
  const text = readFileSync(path, 'utf8')
  built.set(path, text)
  for (const [, name = ''] of text.matchAll(/(?:^import |\bfrom |\bimport\()"(\.[^"]*\.js)"/gm)) {
    load(join(path, '..', name))
  }
}
for (const { path } of readTree(join(HOUSE, 'dist'), ['src'])) {
  if (path.endsWith('.js') && !/\/(?:chunks|console)\//.test(path)) load(join(HOUSE, 'dist', path))
}

const texts = [...built.values()]

it.each(EXTERNAL)('leave %s outside, which a production installation has if anyone', (name) => {
  expect(texts.some((text) => text.includes(`"${name}"`))).toBe(true)
  const entry = packages[`node_modules/${name}`]
  expect(entry?.dev).toBeUndefined()
  // Native code for this machine may be missing.
  if (entry?.optional) return
  expect(existsSync(join(HOUSE, 'node_modules', name))).toBe(entry !== undefined)
})

it('contain the other packages', () => {
  const imported = texts.flatMap((text) =>
    [...text.matchAll(/^import [^"]*"([^".][^"]*)"/gm)].map(([, name = '']) => name),
  )
  const outside = [...new Set(imported)].filter((name) => !isBuiltin(name))
  expect(outside.filter((name) => !EXTERNAL.includes(name))).toEqual([])
  expect(outside).toContain('lmdb')
})

it('have stacks that name the modules and lines of the sources', () => {
  const defect = `const { parse } = JSON
    JSON.parse = () => {
      JSON.parse = parse
      throw new TypeError('a defect of the test')
    }`
  const loaded = `data:text/javascript,${encodeURIComponent(defect)}`
  const args = ['--import', loaded, join(HOUSE, 'bin/tollgate.mjs'), 'version']
  const { status, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  const source = readFileSync(join(HOUSE, 'src/cli/version.ts'), 'utf8').split('\n')
  const line = source.findIndex((text) => text.includes('JSON.parse(')) + 1
  expect(status).toBe(1)
  expect(stderr).toContain('TypeError: a defect of the test')
  expect(stderr).toMatch(new RegExp(`at versionOf \\(src/cli/version\\.ts:${line}:\\d+\\)`))
  expect(stderr).not.toContain('dist/src')
})
