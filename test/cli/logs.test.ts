import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { openLogs, terminalLine } from '../../src/cli/logs.ts'
import { Terminal } from '../../src/runtime/terminal.ts'
import { mountProblem, mountSmallDisk } from '../support/small-disk.ts'

it.each([
  ['{"level":"info","msg":"ready"}', undefined],
  ['{"level":"warn","msg":"away","err":{"message":"refused"}}', '[mongo] warn: away: refused'],
  ['{"level":"error","msg":"broken","err":"why"}', '[mongo] error: broken: why'],
  ['{"level":"error","msg":"unfit","problem":"why"}', '[mongo] error: unfit: why'],
  ['{"level":"fatal","msg":"over"}', '[mongo] fatal: over'],
  ['Segmentation fault', '[mongo] Segmentation fault'],
  ['null', undefined],
  ['', undefined],
])('log output for a person, given %s: %s', (line, shown) => {
  expect(terminalLine('mongo', line)).toBe(shown)
})

it('log files contain every line, and one older file is kept', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-logs-'))
  try {
    const file = join(folder, 'admin.log')
    writeFileSync(file, 'x'.repeat(16 * 1024 * 1024))
    const logs = openLogs(new Terminal(), folder)
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

it('other users cannot read log files, nor those of an earlier release', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-logs-'))
  try {
    const logs = openLogs(new Terminal(), join(folder, 'logs'))
    const old = join(folder, 'logs', 'old.log')
    writeFileSync(old, '')
    chmodSync(old, 0o644)
    for (const part of ['old', 'new']) logs.sink(part)('{"level":"info","msg":"one"}')
    logs.close()
    const modeOf = (path: string) => statSync(join(folder, path)).mode & 0o777
    expect(modeOf('logs') & 0o027).toBe(0)
    expect([modeOf('logs/old.log'), modeOf('logs/new.log')]).toEqual([0o640, 0o640])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})

const problem = mountProblem()

it.skipIf(problem !== undefined)(`logs despite a full disk (${problem ?? 'tried'})`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'tg-logs-'))
  const disk = mountSmallDisk(folder, 1024 * 1024)
  try {
    const logs = openLogs(new Terminal(), folder)
    const sink = logs.sink('admin')
    sink('{"level":"info","msg":"before"}')
    disk.fill()
    // The rest of the last block has room for a few lines.
    for (let count = 0; count < 1000; count += 1) sink('{"level":"info","msg":"meanwhile"}')
    disk.makeRoom()
    sink('{"level":"info","msg":"afterwards"}')
    logs.close()
    const text = readFileSync(join(folder, 'admin.log'), 'utf8')
    expect(text).toMatch(
      /"before"[\s\S]*\{"level":"warn","msg":"\d+ log lines could not be written"\}/,
    )
    expect(text).toMatch(/"msg":"afterwards"\}\n$/)
  } finally {
    disk.remove()
    rmSync(folder, { recursive: true, force: true })
  }
})
