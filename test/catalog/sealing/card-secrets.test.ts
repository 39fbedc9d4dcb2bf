/** Keyed digests of the secrets of prepaid cards. */
import { createHash, randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import type { Catalog } from '../../../src/catalog/connection.ts'
import { readStoredSecrets, resealAll } from '../../../src/catalog/reseal/reseal.ts'
import { CardKeyError, cardSecretsOf } from '../../../src/catalog/sealing/card-secrets.ts'
import { sealerOf } from '../../../src/catalog/sealing/secret-keys.ts'
import { loadConfig } from '../../../src/config/load.ts'
import { useStore } from '../../support/catalog/store.ts'

const store = useStore()
const RUN = randomBytes(4).toString('hex')
const SECRET = '123456789012'
const [FIRST, SECOND] = ['the first key of this installation', 'another key of this installation']
const ACTOR = { by: 'cli', id: '', name: 'tester', address: '' } as const

/** Each process has a catalogue of its own. */
async function processOf(database: string, key: string, oldKeys = '') {
  const env = { TOLLGATE_SECRETS_KEY: key, TOLLGATE_SECRETS_OLD_KEYS: oldKeys }
  const config = loadConfig({ env: oldKeys === '' ? { TOLLGATE_SECRETS_KEY: key } : env })
  const catalog: Catalog = await store.open(store.url(), `${database}_${RUN}`)
  const digest = async () => (await cardSecretsOf(catalog, config).digests([SECRET]))[0]
  return { catalog, sealer: sealerOf(config), digest }
}

it('several processes use one key, which is stored sealed', async () => {
  const processes = await Promise.all([1, 2, 3].map(() => processOf('cards_shared', FIRST)))
  const digests = await Promise.all(processes.map(({ digest }) => digest()))
  expect(new Set(digests).size).toBe(1)
  expect(digests[0]).toMatch(/^[0-9a-f]{128}$/)
  expect(digests[0]).not.toBe(createHash('sha512').update(SECRET).digest('hex'))
  const stored = await processes[0]?.catalog.installation.find().toArray()
  expect(stored).toMatchObject([{ _id: 'cards', key: expect.stringMatching(/^v2:/) }])
  const [other] = [await processOf('cards_other', FIRST)]
  expect(await other?.digest()).not.toBe(digests[0])
})

it('digests stay the same when stored secrets are sealed with another key', async () => {
  const before = await processOf('cards_reseal', FIRST)
  const digest = await before.digest()
  const after = await processOf('cards_reseal', SECOND, FIRST)
  await resealAll(after.catalog, after.sealer, { nowMs: 0, actor: ACTOR })
  expect(await readStoredSecrets(after.catalog, after.sealer)).toMatchObject([
    { kind: 'cards', state: 'sealed' },
  ])
  const later = await processOf('cards_reseal', SECOND)
  expect(await later.digest()).toBe(digest)
  const foreign = await processOf('cards_reseal', FIRST)
  await expect(foreign.digest()).rejects.toThrow(CardKeyError)
  await expect(foreign.digest()).rejects.toThrow(/it needs key [0-9a-f]{8}/)
})
