/**
 * Digests of the secrets of prepaid cards. A secret has 12 digits only, so its hash alone could be
 * reversed by trying all of them: it is keyed. The key is stored once, sealed, and is never
 * replaced, since secrets cannot be digested again.
 */
import { createHash, createHmac, randomBytes } from 'node:crypto'
import type { Catalog } from '../connection.ts'
import { isInserted } from '../transactions/duplicate.ts'
import { type Sealer, sealedWith } from './sealing.ts'
import { type SecretSettings, sealerOf } from './secret-keys.ts'

/** The key of the digests cannot be opened with the keys of this process. */
export class CardKeyError extends Error {
  override name = 'CardKeyError'
}

export interface CardSecrets {
  /**
   * HMAC-SHA-512 of the SHA-512 of a secret, in hexadecimal: existing systems have the latter.
   * Rejects with `CardKeyError`, `SecretKeyError` or `CatalogUnavailableError`.
   */
  digests(secrets: readonly string[]): Promise<string[]>
  /** As `digests`, for results of `hashOf`. */
  digestsOfHashes(hashes: readonly string[]): Promise<string[]>
}

const ID = 'cards'
const KEY_BYTES = 32

/** One per catalogue: the key is read once. */
const known = new WeakMap<object, CardSecrets>()

export function cardSecretsOf(
  catalog: Pick<Catalog, 'installation'>,
  config: SecretSettings,
): CardSecrets {
  const found = known.get(catalog)
  if (found !== undefined) return found
  let key: string | null = null
  const digestsOfHashes = async (hashes: readonly string[]) => {
    key ??= await readKey(catalog, sealerOf(config))
    const bytes = Buffer.from(key, 'base64url')
    return hashes.map((hash) => createHmac('sha512', bytes).update(hash).digest('hex'))
  }
  const made: CardSecrets = {
    digestsOfHashes,
    digests: (secrets) => digestsOfHashes(secrets.map(hashOf)),
  }
  known.set(catalog, made)
  return made
}

/** SHA-512 in hexadecimal. */
export function hashOf(secret: string): string {
  return createHash('sha512').update(secret).digest('hex')
}

/** The first use creates it; of several processes, one succeeds. */
async function readKey(catalog: Pick<Catalog, 'installation'>, sealer: Sealer): Promise<string> {
  for (;;) {
    const stored = await readSealed(catalog)
    if (stored !== null) return opened(stored, sealer)
    const key = randomBytes(KEY_BYTES).toString('base64url')
    const sealed = sealer.seal(key)
    await isInserted(catalog.installation.insertOne({ _id: ID, key: sealed }))
  }
}

function opened(sealed: string, sealer: Sealer): string {
  const key = sealer.open(sealed)
  if (key !== null) return key
  const id = sealedWith(sealed) ?? '-'
  throw new CardKeyError(
    `the key of card secrets cannot be opened: it needs key ${id} (secrets.key, secrets.oldKeys)`,
  )
}

async function readSealed(catalog: Pick<Catalog, 'installation'>): Promise<string | null> {
  const found = await catalog.installation.findOne({ _id: ID })
  return found?.key ?? null
}

/** Passes the sealed key to `visit`, and stores what it returns. */
export async function visitCardKey(
  catalog: Catalog,
  visit: (kind: 'cards', name: string, text: string) => string,
): Promise<void> {
  const sealed = await readSealed(catalog)
  const next = sealed === null ? null : visit('cards', 'secrets of prepaid cards', sealed)
  if (next === null || next === sealed) return
  await catalog.installation.updateOne({ _id: ID, key: sealed as string }, { $set: { key: next } })
}
