/**
 * Names that operators depend on: metrics in dashboards and alerts, keys in configuration files. A
 * name that is added, renamed or removed has to be changed in public-names.json too, on purpose.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { HOUSE, readTree } from './tree.ts'

const NAMES = JSON.parse(readFileSync(join(HOUSE, 'test/house/public-names.json'), 'utf8'))

/** Paths of all values, as in `realtime.tls.minVersion`. */
function keysOf(value: object, path = ''): string[] {
  return Object.entries(value).flatMap(([name, member]) => {
    const key = path === '' ? name : `${path}.${name}`
    const isSection = typeof member === 'object' && member !== null && !Array.isArray(member)
    return isSection && Object.keys(member).length > 0 ? keysOf(member, key) : [key]
  })
}

it('metrics keep their names', () => {
  const found = readTree(HOUSE, ['src']).flatMap(
    ({ text }) => text.match(/tollgate_[a-z0-9_]+/g) ?? [],
  )
  expect([...new Set(found)].sort()).toEqual(NAMES.metrics)
})

it('configuration keys keep their names', () => {
  const defaults = readFileSync(join(HOUSE, 'config/default.yaml'), 'utf8')
  expect(keysOf(parse(defaults)).sort()).toEqual(NAMES.settings)
})
