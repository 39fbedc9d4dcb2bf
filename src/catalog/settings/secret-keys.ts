/** The keys of an installation: those of the settings, and the one that a node has generated. */
import { randomBytes } from 'node:crypto'
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import type { Config } from '../../config/schema.ts'
import { createSealer, type KeyRing, type Sealer } from './sealing.ts'

export class SecretKeyError extends Error {
  override name = 'SecretKeyError'
}

const KEY_BYTES = 32
/** A shorter one was not generated here. */
const CHARACTERS_MIN = 32

export type SecretSettings = Pick<Config, 'secrets' | 'data'>

/** Of this installation; made once per process part, as it reads the file with the key once. */
export function sealerOf(config: SecretSettings): Sealer {
  return createSealer(keyRingOf(config))
}

export function keyFileIn(dataDir: string): string {
  return join(resolve(dataDir), 'secrets.key')
}

/**
 * `secrets.key` seals, and opens with `secrets.oldKeys` and a generated key. Without it the
 * generated key seals: it is made when it is first needed, for its owner alone, and kept in the
 * data folder. `current` throws `SecretKeyError` where the file cannot be read or written.
 */
export function keyRingOf({ secrets, data }: SecretSettings): KeyRing {
  const path = keyFileIn(data.dir)
  let known: string | null = null
  const generated = (): string | null => {
    known ??= readKey(path)
    return known
  }
  return {
    current: () => (secrets.key === '' ? (generated() ?? makeKey(path)) : secrets.key),
    available() {
      const own = orNull(generated)
      if (secrets.key === '') return { seals: own, others: secrets.oldKeys }
      return { seals: secrets.key, others: [...secrets.oldKeys, ...(own === null ? [] : [own])] }
    },
  }
}

/** What cannot be read opens nothing; who has to seal is told why. */
function orNull(generated: () => string | null): string | null {
  try {
    return generated()
  } catch (error) {
    if (error instanceof SecretKeyError) return null
    throw error
  }
}

/** Null: there is none. */
function readKey(path: string): string | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8').trim()
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null
    throw new SecretKeyError(`${path}: the key of stored secrets cannot be read: ${codeOf(error)}`)
  }
  if (text.length >= CHARACTERS_MIN) return text
  throw new SecretKeyError(`${path}: is no key of stored secrets: put back the one that was there`)
}

/** Whole or not at all; of several processes that begin at once one makes it. */
function makeKey(path: string): string {
  const draft = `${path}.${randomBytes(6).toString('hex')}`
  try {
    mkdirSync(resolve(path, '..'), { recursive: true, mode: 0o700 })
    const file = openSync(draft, 'wx', 0o600)
    try {
      writeSync(file, `${randomBytes(KEY_BYTES).toString('base64url')}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    linkSync(draft, path)
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') {
      throw new SecretKeyError(
        `${path}: no key for secrets can be stored (${codeOf(error)}): set secrets.key`,
      )
    }
  } finally {
    rmSync(draft, { force: true })
  }
  const made = readKey(path)
  if (made === null) throw new SecretKeyError(`${path}: was removed just now`)
  return made
}

function codeOf(error: unknown): string {
  return error instanceof Error && 'code' in error ? String(error.code) : String(error)
}
