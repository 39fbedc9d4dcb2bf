/** Fixtures of the tests of a file or a describe block, by one call each. */
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'

type Make<T> = () => T | Promise<T>
type Closable = { close(): unknown }

/** A value that is made once, before the first test. */
export function useMade<T>(make: Make<T>): () => T {
  return made(beforeAll, make)
}

/** A value that is made before each test. */
export function useMadeEach<T>(make: Make<T>): () => T {
  return made(beforeEach, make)
}

/** A value that is opened before the first test and closed after the last. */
export function useOpened<T extends Closable>(open: Make<T>): () => T
export function useOpened<T>(open: Make<T>, close: (opened: T) => unknown): () => T
export function useOpened<T>(open: Make<T>, close = closeIt<T>): () => T {
  const opened = made(beforeAll, open)
  afterAll(() => closeIfOpened(opened(), close))
  return opened
}

/** A value that is opened before each test and closed after it. */
export function useOpenedEach<T extends Closable>(open: Make<T>): () => T
export function useOpenedEach<T>(open: Make<T>, close: (opened: T) => unknown): () => T
export function useOpenedEach<T>(open: Make<T>, close = closeIt<T>): () => T {
  const opened = made(beforeEach, open)
  afterEach(() => closeIfOpened(opened(), close))
  return opened
}

/** A temporary folder, which is removed after the last test. */
export function useFolder(): string {
  const folder = newFolder()
  afterAll(() => removeFolder(folder))
  return folder
}

/** A new temporary folder for each test. */
export function useFolderEach(): () => string {
  return useOpenedEach(newFolder, removeFolder)
}

function made<T>(before: (make: () => Promise<void>) => void, make: Make<T>): () => T {
  let value: T
  before(async () => {
    value = await make()
  })
  return () => value
}

/** Nothing was opened if `open` has failed. */
function closeIfOpened<T>(opened: T, close: (opened: T) => unknown): unknown {
  return opened === undefined ? undefined : close(opened)
}

function closeIt<T>(opened: T): unknown {
  return (opened as Closable).close()
}

function newFolder(): string {
  return mkdtempSync(join(realpathSync(tmpdir()), 'tg-test-'))
}

function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true })
}
