/** `tollgate secrets status` and `reseal`: the encryption keys of stored secrets. */
import type { Catalog } from '../catalog/connection.ts'
import { readStoredSecrets, resealAll, type StoredSecret } from '../catalog/reseal/reseal.ts'
import { createSealer, keyIdOf, type Sealer } from '../catalog/sealing/sealing.ts'
import { keyFileIn, keyRingOf, SecretKeyError } from '../catalog/sealing/secret-keys.ts'
import type { Config } from '../config/schema.ts'
import { systemClock } from '../runtime/clock.ts'
import { CommandError } from './errors.ts'
import { operator } from './operator.ts'
import type { OptionValues } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

const STATE_TEXTS: Readonly<Record<StoredSecret['state'], string>> = {
  sealed: 'sealed',
  'old key': 'sealed with an old key',
  clear: 'in clear',
  lost: 'cannot be opened',
}

/** Returns 1 if a secret cannot be decrypted. */
export async function showSecrets(shell: Shell, options: OptionValues): Promise<0 | 1> {
  const { secrets, keys } = await withSecrets(shell, async (catalog, sealer, config) => ({
    secrets: await readStoredSecrets(catalog, sealer),
    keys: visibleKeys(config),
  }))
  const code = secrets.some(({ state }) => state === 'lost') ? 1 : 0
  if (options['json'] === true) {
    shell.print(JSON.stringify({ keys, secrets }))
    return code
  }
  const { seals, from, others } = keys
  shell.print(seals === null ? 'there is no key yet' : `key ${seals} seals (${from})`)
  for (const id of others) shell.print(`key ${id} opens only`)
  if (secrets.length === 0) shell.print('no secrets are stored that could be read again')
  const rows = secrets.map(({ kind, name, state, key }) => [
    kind,
    name,
    STATE_TEXTS[state],
    key ?? '-',
  ])
  if (rows.length > 0) {
    for (const line of aligned([['of', 'name', 'state', 'key'], ...rows])) shell.print(line)
  }
  return code
}

export async function resealSecrets(shell: Shell): Promise<0 | 1> {
  const { sealed, lost } = await withSecrets(shell, (catalog, sealer) =>
    resealAll(catalog, sealer, { nowMs: systemClock.nowMs(), actor: operator() }),
  )
  shell.print(`sealed ${sealed}`)
  for (const { kind, name, key } of lost) {
    shell.print(`${kind} ${name} cannot be opened: it needs key ${key ?? '-'} (secrets.oldKeys)`)
  }
  return lost.length > 0 ? 1 : 0
}

function visibleKeys(config: Config) {
  const { seals, others } = keyRingOf(config).available()
  return {
    seals: seals === null ? null : keyIdOf(seals),
    from: config.secrets.key === '' ? keyFileIn(config.data.dir) : 'secrets.key',
    others: others.map(keyIdOf),
  }
}

async function withSecrets<T>(
  shell: Shell,
  act: (catalog: Catalog, sealer: Sealer, config: Config) => Promise<T>,
): Promise<T> {
  const config = shell.config()
  const sealer = createSealer(keyRingOf(config))
  try {
    return await withCatalog(config, (catalog) => act(catalog, sealer, config))
  } catch (error) {
    if (error instanceof SecretKeyError) throw new CommandError(error.message, { cause: error })
    throw error
  }
}
