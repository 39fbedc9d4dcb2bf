/** `tollgate peer add`, `list`, `rotate`, `remove`: the network elements that may charge. */
import type { Catalog } from '../catalog/connection.ts'
import {
  certificateNamesOf,
  checkUnique,
  hashOfKey,
  nameOfPeer,
  newPeerKey,
  type PeerKey,
  type PeerSettings,
  peerSettings,
} from '../catalog/settings/peers/peer-settings.ts'
import { usablePeers } from '../catalog/settings/peers/peers.ts'
import { readStoredConfig } from '../catalog/settings/stored-config.ts'
import { systemClock } from '../runtime/clock.ts'
import { CommandError, UsageError } from './errors.ts'
import { writeConfigByOperator } from './operator.ts'
import { type OptionValues, optionalList, optionalNumber, optionalText } from './options.ts'
import { aligned } from './owners.ts'
import type { Shell } from './shell.ts'
import { withCatalog } from './stores.ts'

/** Displayed prefix of a key's hash; enough to distinguish keys. */
const HASH_SHOWN = 12

export async function addPeer(shell: Shell, name: string, options: OptionValues): Promise<0> {
  const rate = optionalNumber(options, 'rate')
  const addresses = optionalList(options, 'address')
  const fileTypes = optionalList(options, 'file-type')
  const names = optionalList(options, 'certificate')
  const diameter = diameterOf(options)
  const { key, stored } = newKey()
  const fields = { name, addresses, requests_per_second: rate, file_types: fileTypes, diameter }
  const hasKey = diameter === undefined && names === undefined
  const keys = hasKey ? [stored] : []
  const settings = peerSettings({ ...fields, certificate_names: names, keys }, 'peer')
  await changePeers(shell, (peers) => {
    if (peers.some((peer) => nameOfPeer(peer) === name)) {
      throw new CommandError(`peer ${name} exists already: see 'tollgate peer rotate'`)
    }
    checkUnique(settings, usablePeers(peers).used, 'peer')
    return [...peers, settings]
  })
  if (hasKey) printKey(shell, name, key)
  if (diameter !== undefined) {
    shell.print(`${name} may connect over Diameter as ${settings.diameter?.origin_host}`)
  }
  if (names !== undefined) {
    const shown = settings.certificate_names?.join(' or ')
    shell.print(`${name} may charge over HTTP by a certificate for ${shown}`)
  }
  return 0
}

function diameterOf(options: OptionValues) {
  const host = optionalText(options, 'origin-host')
  const realm = optionalText(options, 'origin-realm')
  const realms = optionalList(options, 'realm')
  if (host === undefined) {
    if (realm === undefined && realms === undefined) return undefined
    throw new UsageError('peer add: --origin-realm and --realm need --origin-host')
  }
  return { origin_host: host, origin_realm: realm, realms }
}

export async function rotatePeer(shell: Shell, name: string, options: OptionValues): Promise<0> {
  const { key, stored } = newKey()
  await changePeers(shell, (peers) => {
    const index = indexOf(peers, name)
    const old = peerSettings(peers[index], `peers.${index}`)
    const kept = options['drop-old'] === true ? [] : old.keys
    return peers.with(index, { ...old, keys: [...kept, stored] })
  })
  printKey(shell, name, key)
  return 0
}

export async function removePeer(shell: Shell, name: string): Promise<0> {
  await changePeers(shell, (peers) => peers.toSpliced(indexOf(peers, name), 1))
  shell.print(`removed ${name}`)
  return 0
}

/**
 * Also lists peers that cannot be used, with the reason. Keys are shown by a prefix of their hash.
 */
export async function listPeers(shell: Shell, options: OptionValues): Promise<0> {
  const value = await onCatalog(shell, async (catalog) => (await readStoredConfig(catalog)).peers)
  const { used: peers, skipped } = usablePeers(value)
  if (options['json'] === true) {
    const left = skipped.map((each) => ({ ...each, state: 'unusable' }))
    shell.print(JSON.stringify([...peers.map(peerJson), ...left]))
    return 0
  }
  if (peers.length + skipped.length === 0) shell.print('there are no peers')
  if (peers.length > 0) {
    for (const line of aligned(peerTable(peers))) shell.print(line)
  }
  for (const { name, path, reason } of skipped) shell.print(`  ${name} unusable: ${path} ${reason}`)
  return 0
}

function newKey(): { key: string; stored: PeerKey } {
  const key = newPeerKey()
  const created = new Date(systemClock.nowMs()).toISOString()
  return { key, stored: { sha256: hashOfKey(key), created } }
}

function printKey(shell: Shell, name: string, key: string): void {
  shell.print(`The key of ${name}, which is not shown again:`)
  shell.print(key)
}

function indexOf(peers: readonly unknown[], name: string): number {
  const index = peers.findIndex((peer) => nameOfPeer(peer) === name)
  if (index < 0) throw new CommandError(`there is no peer ${name}`)
  return index
}

function changePeers(
  shell: Shell,
  change: (peers: readonly unknown[]) => unknown[],
): Promise<unknown> {
  const changed = (value: unknown) => {
    if (Array.isArray(value)) return change(value)
    throw new CommandError('the stored peers are not a list: repair them first')
  }
  return onCatalog(shell, (catalog) => writeConfigByOperator(catalog, 'peers', changed))
}

function onCatalog<T>(shell: Shell, act: (catalog: Catalog) => Promise<T>): Promise<T> {
  return withCatalog(shell.config(), act)
}

function hashView({ sha256, created, label }: PeerKey) {
  const named = label === undefined ? {} : { label }
  return { sha256: sha256.slice(0, HASH_SHOWN), created, ...named }
}

function peerJson(peer: PeerSettings) {
  const state = peer.disabled ? 'disabled' : 'enabled'
  return { ...peer, keys: peer.keys.map(hashView), state }
}

/** The certificate column is shown only if a peer has certificate names. */
function peerTable(peers: readonly PeerSettings[]): string[][] {
  const hasCertificates = peers.some((peer) => peer.certificate_names !== undefined)
  const optional = (text: string) => (hasCertificates ? [text] : [])
  const head = ['name', 'state', 'keys', 'origin host', ...optional('certificate')]
  const rows = peers.map((peer) => {
    const { name, keys, addresses, requests_per_second: rate } = peer
    return [
      name,
      peer.disabled ? 'disabled' : 'enabled',
      keys.map((key) => hashView(key).sha256).join(' ') || 'none',
      peer.diameter?.origin_host ?? 'none',
      ...optional(certificateNamesOf(peer).join(' ') || 'none'),
      addresses.join(' ') || 'all',
      rate === 0 ? 'no limit' : `${rate}/s`,
      peer.file_types?.join(' ') ?? 'all',
    ]
  })
  return [[...head, 'addresses', 'rate', 'file types'], ...rows]
}
