/**
 * Devices from which an account has logged in before. These may try a password while others may
 * not, because somebody is guessing; a known device proves nothing else. A browser is known by a
 * signed cookie for the account; a client of OAuth by its own secret.
 */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AuthDeps } from './auth-deps.ts'

/** Each rejects with `StoreDownError`. An account is what tries are counted under. */
export interface Devices {
  /** The id of the device whose cookie has this value; null: it is not known of the account. */
  idOf(value: string | null, account: string): Promise<string | null>
  /** The value of the cookie from now on; `id`: null makes a new device known. */
  issue(account: string, id: string | null): Promise<string>
  /** The id of a client that has got in for the account before; null: it has not. */
  idOfClient(client: string, account: string): Promise<string | null>
  noteClient(client: string, account: string): Promise<void>
}

const DAY_MS = 24 * 3_600_000
/** Without a login for so long a device is not known any more. */
export const DEVICE_MS = 180 * DAY_MS
/** Longer than any cookie that was signed with it. */
const KEY_MS = 400 * DAY_MS
const KEY = 'device-key'
const KEY_BYTES = 32
const VALUE = /^([\w-]{22})\.([\da-z]{1,11})\.([\w-]{43})$/

export function createDevices({ keys, clock }: Pick<AuthDeps, 'keys' | 'clock'>): Devices {
  const signature = async (id: string, ends: string, account: string) => {
    const key = await keys.get(KEY)
    if (key === null) return null
    return createHmac('sha256', key).update([id, ends, account].join('\0')).digest('base64url')
  }
  return {
    async idOf(value, account) {
      const [, id = '', ends = '', signed = ''] = VALUE.exec(value ?? '') ?? []
      if (id === '' || Number.parseInt(ends, 36) <= clock.nowMs()) return null
      const right = await signature(id, ends, account)
      if (right === null) return null
      return timingSafeEqual(Buffer.from(right), Buffer.from(signed)) ? id : null
    },

    async issue(account, known) {
      const id = known ?? randomBytes(16).toString('base64url')
      const ends = (clock.nowMs() + DEVICE_MS).toString(36)
      // All processes sign with the same one.
      await keys.setOnce(KEY, randomBytes(KEY_BYTES).toString('base64url'), KEY_MS)
      await keys.extend(KEY, KEY_MS)
      return [id, ends, await signature(id, ends, account)].join('.')
    },

    async idOfClient(client, account) {
      const key = clientKey(client, account)
      return (await keys.get(key)) === null ? null : key
    },

    noteClient: (client, account) => keys.set(clientKey(client, account), '1', DEVICE_MS),
  }
}

function clientKey(client: string, account: string): string {
  const both = createHash('sha256')
    .update(JSON.stringify([client, account]))
    .digest('base64url')
  return `known-client:${both}`
}
