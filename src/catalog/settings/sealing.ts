/** Secrets that have to be read again (of clients, of directories), as they are stored. */
import { createCipheriv, createDecipheriv, createHash, randomBytes, scryptSync } from 'node:crypto'

export interface Sealer {
  /** Throws what the key ring throws where there is no key. */
  seal(text: string): string
  /** Null: not sealed, sealed with a key that is not known, or changed since. */
  open(sealed: string): string | null
  /** Whether a text is sealed with the key that seals now. */
  isCurrent(sealed: string): boolean
}

/** Texts from which keys are made: `secrets.key`, older ones, the one that a node has generated. */
export interface KeyRing {
  /** The key that seals; one is generated where there is none. */
  current(): string
  /** What is there now, and generates nothing. */
  available(): SealingKeys
}

export interface SealingKeys {
  /** Null: there is none yet. */
  readonly seals: string | null
  /** Further keys that open. */
  readonly others: readonly string[]
}

/** Before the text that was stored without a key; only read, and sealed at the next start. */
export const PLAIN = 'plain:'
/** Before a text without the id of its key; only read. */
const SEALED_V1 = 'v1:'
const SEALED = 'v2:'
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
const ID_DIGITS = 8
/** The key may be words of a person: what is made of it must be costly to guess. */
const SALT = 'tollgate secrets v1'

interface CipherKey {
  readonly id: string
  readonly bytes: Buffer
}

/**
 * AES-256-GCM with a random nonce: `v2:<id of the key>:<nonce, tag and text in base64url>`. The
 * first use of each key takes some 50 ms. A text in the place of the ring is its only key.
 */
export function createSealer(given: KeyRing | string): Sealer {
  const ring = typeof given === 'string' ? ringOf(given) : given
  return {
    seal(text) {
      const { id, bytes } = cipherKey(ring.current())
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, bytes, nonce, { authTagLength: TAG_BYTES })
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      const sealed = Buffer.concat([nonce, cipher.getAuthTag(), hidden])
      return `${SEALED}${id}:${sealed.toString('base64url')}`
    },
    open(sealed) {
      if (sealed.startsWith(PLAIN)) return sealed.slice(PLAIN.length)
      const { seals, others } = ring.available()
      const keys = [...(seals === null ? [] : [seals]), ...others].map(cipherKey)
      if (sealed.startsWith(SEALED_V1)) {
        const text = sealed.slice(SEALED_V1.length)
        return keys.map((key) => decrypt(text, key)).find((each) => each !== null) ?? null
      }
      const id = sealedWith(sealed)
      const key = id === null ? undefined : keys.find((each) => each.id === id)
      if (key === undefined) return null
      return decrypt(sealed.slice(SEALED.length + ID_DIGITS + 1), key)
    },
    isCurrent(sealed) {
      const { seals } = ring.available()
      return seals !== null && sealedWith(sealed) === keyIdOf(seals)
    },
  }
}

function ringOf(key: string): KeyRing {
  return { current: () => key, available: () => ({ seals: key, others: [] }) }
}

/** Id of the key that a text is sealed with; null: none is named. */
export function sealedWith(sealed: string): string | null {
  return /^v2:([0-9a-f]{8}):/.exec(sealed)?.[1] ?? null
}

/** Id of a key, by which it is told from others: it tells nothing of the key. */
export function keyIdOf(key: string): string {
  return cipherKey(key).id
}

/** Deriving a key is costly on purpose, and a process has few of them. */
const derived = new Map<string, CipherKey>()

function cipherKey(key: string): CipherKey {
  const known = derived.get(key)
  if (known !== undefined) return known
  const bytes = scryptSync(key, SALT, KEY_BYTES)
  const id = createHash('sha256').update('id').update(bytes).digest('hex').slice(0, ID_DIGITS)
  const made = { id, bytes }
  derived.set(key, made)
  return made
}

function decrypt(text: string, { bytes: key }: CipherKey): string | null {
  const bytes = Buffer.from(text, 'base64url')
  if (bytes.length < NONCE_BYTES + TAG_BYTES) return null
  const nonce = bytes.subarray(0, NONCE_BYTES)
  const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
  decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES))
  const hidden = bytes.subarray(NONCE_BYTES + TAG_BYTES)
  try {
    return Buffer.concat([decipher.update(hidden), decipher.final()]).toString('utf8')
  } catch {
    return null
  }
}
