import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { Reserve } from '../src/store/reserve.ts'

let folder: string
let file: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tg-reserve-'))
  file = join(folder, 'data.mdb')
  writeFileSync(file, 'begin')
})
afterEach(() => rmSync(folder, { recursive: true, force: true }))

it('the reserve makes the file larger than the maximum size of a transaction', () => {
  const reserve = new Reserve(folder, () => 5)
  reserve.begin()
  reserve.addEntry(1_000_000)
  expect(statSync(file).size).toBeGreaterThan(1_000_000)
  reserve.close()
})

it('the reserve overwrites nothing, even if the store has grown by itself', () => {
  const reserve = new Reserve(folder, () => statSync(file).size)
  const data = 'x'.repeat(3_000_000)
  appendFileSync(file, data)
  reserve.begin()
  reserve.addEntry(1_000_000)
  expect(statSync(file).size).toBeGreaterThan(4_000_000)
  expect(readFileSync(file, 'latin1').slice(0, 3_000_005)).toBe(`begin${data}`)
  reserve.close()
})
