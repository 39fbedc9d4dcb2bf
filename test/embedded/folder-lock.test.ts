import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  chownSync,
  mkdirSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { FolderInUseError, isLocked, lockFolder } from '../../src/embedded/folder-lock.ts'
import { RunDirError, runDirFor } from '../../src/embedded/run-dir.ts'
import { closeFolderToOthers } from '../../src/runtime/file-modes.ts'
import { useFolderEach } from '../support/opened.ts'

const folder = useFolderEach()

describe('the folder lock', () => {
  test('is held by one process, names its owner, and is free after release', async () => {
    const lock = await lockFolder(folder(), 'supervisor')
    expect(await isLocked(folder(), 'supervisor')).toBe(true)
    const refused = await lockFolder(folder(), 'supervisor').catch((error: unknown) => error)
    expect(refused).toBeInstanceOf(FolderInUseError)
    expect((refused as FolderInUseError).ownerPid).toBe(process.pid)
    await (await lockFolder(folder(), 'other')).release()
    await lock.release()
    expect(await isLocked(folder(), 'supervisor')).toBe(false)
    await (await lockFolder(folder(), 'supervisor')).release()
    expect(readdirSync(folder())).toEqual([])
  })

  test('of a killed process is acquired by exactly one of several waiting processes', async () => {
    const path = join(folder(), 'supervisor.lock.00000000')
    const program = `require('net').createServer().listen(process.argv[1], () => console.log(1))`
    const dead = spawn(process.execPath, ['-e', program, path], { stdio: 'pipe' })
    await once(dead.stdout, 'data')
    expect(await isLocked(folder(), 'supervisor')).toBe(true)
    dead.kill('SIGKILL')
    await once(dead, 'exit')
    expect(await isLocked(folder(), 'supervisor')).toBe(false)
    const asked = await Promise.allSettled(
      Array.from({ length: 8 }, () => lockFolder(folder(), 'supervisor')),
    )
    const held = asked.filter((result) => result.status === 'fulfilled')
    expect(held).toHaveLength(1)
    for (const result of asked) {
      if (result.status === 'rejected') expect(result.reason).toBeInstanceOf(FolderInUseError)
    }
    expect(await isLocked(folder(), 'supervisor')).toBe(true)
    await held[0]?.value.release()
    expect(readdirSync(folder())).toEqual([])
  })
})

describe('a data folder', () => {
  test('is closed to other users, but not to its group', () => {
    const dataDir = join(folder(), 'data')
    runDirFor(dataDir)
    expect(statSync(dataDir).mode & 0o027).toBe(0)
    chmodSync(dataDir, 0o775)
    closeFolderToOthers(dataDir)
    expect(statSync(dataDir).mode & 0o777).toBe(0o770)
  })

  test('stays unchanged if all users can write to it', () => {
    chmodSync(folder(), 0o1777)
    closeFolderToOthers(folder())
    expect(statSync(folder()).mode & 0o7777).toBe(0o1777)
  })
})

describe('a folder for sockets', () => {
  test('is in the data folder, for this user only', () => {
    const dataDir = join(folder(), 'data')
    const dir = runDirFor(dataDir)
    expect(dir).toBe(join(dataDir, 'run'))
    chmodSync(dir, 0o755)
    runDirFor(dataDir)
    expect(statSync(dir).mode & 0o777).toBe(0o700)
  })

  test.each([
    ['long', 'x'.repeat(100)],
    ['with a blank', 'my data'],
  ])('is in the temporary folder for a path %s', (_, name) => {
    const dir = runDirFor(join(folder(), name))
    try {
      expect(dir).toBe(runDirFor(join(folder(), name)))
      expect(dir).toMatch(new RegExp(`^/[^ ]*/tollgate-${userInfo().uid}-[0-9a-f]{12}$`))
      expect(dir).not.toBe(runDirFor(folder()))
      expect(statSync(dir).mode & 0o777).toBe(0o700)
    } finally {
      rmSync(dir, { recursive: true })
    }
  })

  test('is refused if another user created a link or a file there', () => {
    mkdirSync(join(folder(), 'target'))
    symlinkSync(join(folder(), 'target'), join(folder(), 'run'))
    expect(() => runDirFor(folder())).toThrow(RunDirError)
    rmSync(join(folder(), 'run'))
    writeFileSync(join(folder(), 'run'), '')
    expect(() => runDirFor(folder())).toThrow(/EEXIST|must be a folder/)
  })

  test.runIf(userInfo().uid === 0)('is refused if another user owns it', () => {
    mkdirSync(join(folder(), 'run'))
    chownSync(join(folder(), 'run'), 65534, 65534)
    expect(() => runDirFor(folder())).toThrow(/belongs to user 65534/)
  })
})
