import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLogs, shownLine } from '../../src/cli/logs.ts'

it.each([
  ['{"level":"info","msg":"ready"}', undefined],
  ['{"level":"warn","msg":"away","err":{"message":"refused"}}', '[mongo] warn: away: refused'],
  ['{"level":"error","msg":"broken","err":"why"}', '[mongo] error: broken: why'],
  ['{"level":"error","msg":"unfit","problem":"why"}', '[mongo] error: unfit: why'],
  ['{"level":"fatal","msg":"over"}', '[mongo] fatal: over'],
  ['Segmentation fault', '[mongo] Segmentation fault'],
  ['null', undefined],
  ['', undefined],
])('a person sees of %s: %s', (line, shown) => {
  expect(shownLine('mongo', line)).toBe(shown)
})

it('files have everything, and one older file is kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-logs-'))
  try {
    const file = join(folder, 'admin.log')
    writeFileSync(file, 'x'.repeat(16 * 1024 * 1024))
    const logs = openLogs(folder)
    const sink = logs.sink('admin')
    sink('{"level":"info","msg":"one"}')
    writeFileSync(file, 'y', { flag: 'a' })
    sink('{"level":"info","msg":"two"}\n')
    logs.close()
    expect(readFileSync(`${file}.1`, 'utf8')).toMatch(/x\{"level":"info","msg":"one"\}\ny$/)
    expect(readFileSync(file, 'utf8')).toBe('{"level":"info","msg":"two"}\n')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
