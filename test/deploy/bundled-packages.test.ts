import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, it } from 'vitest'
import { HOUSE, readTree } from '../house/tree.ts'

const FOLDER = join(HOUSE, 'dist/node_modules')
const script = pathToFileURL(join(HOUSE, 'scripts/bundle-packages.mjs')).href
const PACKAGES: Record<string, readonly string[]> = (await import(script)).PACKAGES

const MODULES = Object.entries(PACKAGES).flatMap(([name, paths]) =>
  paths.map((path) => ({ name, path, specifier: join(name, path) })),
)

it.each(MODULES)('bundles all exports of $specifier', async ({ name, path, specifier }) => {
  const { exports } = JSON.parse(readFileSync(join(FOLDER, name, 'package.json'), 'utf8'))
  const file = pathToFileURL(join(FOLDER, name, exports[path])).href
  const [bundled, original] = await Promise.all([import(file), import(specifier)])
  const namesOf = (module: object) => Object.keys(module).filter((key) => key !== 'module.exports')
  expect(namesOf(bundled).sort()).toEqual(namesOf(original).sort())
})

it('bundles every module of these packages that src imports', () => {
  const names = Object.keys(PACKAGES)
  const imported = readTree(HOUSE, ['src']).flatMap(({ text }) =>
    [...text.matchAll(/(?:from|import\() ?'([^'.][^']*)'/g)].map(([, specifier = '']) => specifier),
  )
  const ours = imported.filter((specifier) =>
    names.some((name) => specifier === name || specifier.startsWith(`${name}/`)),
  )
  const bundled = new Set(MODULES.map(({ specifier }) => specifier))
  expect([...new Set(ours)].filter((specifier) => !bundled.has(specifier))).toEqual([])
  expect(new Set(ours)).toEqual(bundled)
})
