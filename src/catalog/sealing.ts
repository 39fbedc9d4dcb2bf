/** Secrets that have to be read again (of clients, of directories), as they are stored. */
import { createCipheriv, createDecipheriv, randomBytes, scryptSync } from 'node:crypto'

export interface Sealer {
  seal(text: string): string
  /** Null: not sealed, sealed with another key, or changed since. */
  open(sealed: string): string | null
}

const PLAIN = 'plain:'
const SEALED = 'v1:'
const CIPHER = 'aes-256-gcm'
const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16
/** The key may be words of a person: what is made of it must be costly to guess. */
const SALT = 'tollgate secrets v1'

/**
 * AES-256-GCM with a key that is made of `key` (`secrets.key` of the settings); with an empty one
 * texts stay readable. What was stored before there was a key is opened all the same. Takes some
 * 50 ms.
 */
export function createSealer(key: string): Sealer {
  if (key === '') {
    return { seal: (text) => PLAIN + text, open: openPlain }
  }
  const cipherKey = scryptSync(key, SALT, KEY_BYTES)
  return {
    seal(text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, cipherKey, nonce, { authTagLength: TAG_BYTES })
      const hidden = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return SEALED + Buffer.concat([nonce, cipher.getAuthTag(), hidden]).toString('base64url')
    },
    open: (sealed) => openPlain(sealed) ?? openSealed(sealed, cipherKey),
  }
}

function openPlain(sealed: string): string | null {
  return sealed.startsWith(PLAIN) ? sealed.slice(PLAIN.length) : null
}

function openSealed(sealed: string, key: Buffer): string | null {
  if (!sealed.startsWith(SEALED)) return null
  const bytes = Buffer.from(sealed.slice(SEALED.length), 'base64url')
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
