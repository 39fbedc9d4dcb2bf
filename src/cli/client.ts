/** `tollgate client add`, `list`, `rotate`, `revoke`: machine clients of the control plane. */
import {
  type ClientChange,
  type ClientView,
  clientViews,
  readStoredClients,
  withClient,
  withNewKey,
  withoutClient,
} from '../catalog/clients/client-changes.ts'
import { CLIENTS_CATEGORY } from '../catalog/clients/client-settings.ts'
import { compileClients, nameOfClient } from '../catalog/clients/clients.ts'
import { sealerOf } from '../catalog/sealing/secret-keys.ts'
import { systemClock } from '../runtime/clock.ts'
import { CommandError } from './errors.ts'
import { writeConfigByOperator } from './operator.ts'
import { type OptionValues, optionalList, optionalText } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** Roles of a client that is added without `--role`. */
const DEFAULT_ROLES: readonly string[] = ['read']

export function addClient(shell: Shell, name: string, options: OptionValues): Promise<0> {
  const fields = {
    roles: optionalList(options, 'role') ?? DEFAULT_ROLES,
    ...ifGiven('grants', optionalList(options, 'grant')),
    ...ifGiven('from', optionalText(options, 'from')),
    ...ifGiven('to', optionalText(options, 'to')),
    ...(options['no-signature'] === true && { signature: false }),
  }
  return changeClients(shell, name, 'create', (list, change) => {
    if (Array.isArray(list) && list.some((each) => nameOfClient(each) === name)) {
      throw new CommandError(`client ${name} exists already: see 'tollgate client rotate'`)
    }
    return withClient(list, { name, ...fields }, change)
  })
}

export function rotateClient(shell: Shell, name: string): Promise<0> {
  return changeClients(shell, name, 'rotate', (list, change) => withNewKey(list, name, change))
}

export function revokeClient(shell: Shell, name: string): Promise<0> {
  return changeClients(shell, name, 'revoke', (list, change) => {
    return { ...withoutClient(list, { name }, change), secret: null }
  })
}

/** Also lists clients that cannot be used, with the reason. */
export async function listClients(shell: Shell, options: OptionValues): Promise<0> {
  const config = shell.config()
  const value = await withCatalog(config, readStoredClients)
  const { skipped } = compileClients(value, sealerOf(config))
  const unusable = new Set(skipped.filter(({ what }) => what === 'client').map(({ name }) => name))
  const nowMs = systemClock.nowMs()
  const clients = clientViews(value).filter(({ name }) => !unusable.has(name))
  if (options['json'] === true) {
    const left = skipped.filter(({ what }) => what === 'client')
    const rows = clients.map((each) => ({ ...each, state: stateOf(each, nowMs) }))
    shell.print(JSON.stringify([...rows, ...left.map((each) => ({ ...each, state: 'unusable' }))]))
    return 0
  }
  if (clients.length + skipped.length === 0) shell.print('there are no clients')
  if (clients.length > 0) {
    const head = ['name', 'state', 'roles', 'grants', 'signs', 'from', 'to', 'made']
    for (const line of aligned([head, ...clients.map((each) => rowOf(each, nowMs))]))
      shell.print(line)
  }
  for (const { what, name, path, reason } of skipped) {
    const state = what === 'client' ? 'unusable' : 'cannot sign'
    shell.print(`  ${name} ${state}: ${path} ${reason}`)
  }
  return 0
}

type Changed = { list: readonly unknown[]; secret: string | null }

async function changeClients(
  shell: Shell,
  name: string,
  type: string,
  make: (list: unknown, change: ClientChange) => Changed,
): Promise<0> {
  const config = shell.config()
  const sealer = sealerOf(config)
  const change = { nowMs: systemClock.nowMs(), by: 'cli', sealer, timeZone: config.rating.timeZone }
  await withCatalog(config, async (catalog) => {
    let secret: string | null = null
    const listed = (list: unknown) => {
      const changed = make(list, change)
      secret = changed.secret
      return changed.list
    }
    const entry = (old: unknown, list: unknown) => {
      const views = { old: one(old, name), new: one(list, name) }
      return { collection: CLIENTS_CATEGORY, type, key: name, ...views }
    }
    await writeConfigByOperator(catalog, CLIENTS_CATEGORY, listed, entry)
    report(shell, name, secret)
  })
  return 0
}

function report(shell: Shell, name: string, secret: string | null): void {
  if (secret === null) {
    shell.print(`revoked ${name}`)
    return
  }
  shell.print(`The secret of ${name}, which is not shown again:`)
  shell.print(secret)
}

function one(list: unknown, name: string): ClientView | null {
  return clientViews(list).find((each) => each.name === name) ?? null
}

function ifGiven<T>(name: string, value: T | undefined): Record<string, T> {
  return value === undefined ? {} : { [name]: value }
}

function stateOf({ disabled, from, to }: ClientView, nowMs: number): string {
  if (disabled) return 'disabled'
  if (from !== null && Date.parse(from) > nowMs) return 'not yet'
  return to !== null && Date.parse(to) <= nowMs ? 'expired' : 'enabled'
}

function rowOf(client: ClientView, nowMs: number): string[] {
  return [
    client.name,
    stateOf(client, nowMs),
    client.roles.join(' ') || 'none',
    client.grants.join(' '),
    client.signature ? 'yes' : 'no',
    client.from ?? 'any time',
    client.to ?? 'no end',
    `${client.created_at} by ${client.created_by}`,
  ]
}
