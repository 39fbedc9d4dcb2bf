/** The categories that hold secrets, which go in and never come out. */
import { mergedAuth, shownAuth } from '../../catalog/auth-secrets.ts'
import { checkAuthSettings } from '../../catalog/auth-settings.ts'
import { shownClients, withClient, withoutClient } from '../../catalog/clients/client-changes.ts'
import { CompileError } from '../../catalog/errors.ts'
import type { Sealer } from '../../catalog/sealing.ts'
import { isObject } from '../../rating/rule-fields.ts'
import type { Category } from './category.ts'

export function secretCategories(sealer: Sealer, timeZone: string): readonly Category[] {
  return [authCategory(sealer), clientsCategory(sealer, timeZone)]
}

function authCategory(sealer: Sealer): Category {
  return {
    name: 'auth',
    about: 'Directories by which users log in: LDAP and SAML (docs/ACCESS.md).',
    readRole: 'admin',
    check: checkAuthSettings,
    shown: shownAuth,
    merged: (value, stored) => mergedAuth(stored, value, sealer),
  }
}

/** One at a time: what a client is told once is its secret. */
function clientsCategory(sealer: Sealer, timeZone: string): Category {
  return {
    name: 'shared_secret',
    about: 'Clients: programs that get tokens, or sign their requests.',
    readRole: 'admin',
    check: () => undefined,
    shown: shownClients,
    special: {
      set(stored, data, nowMs) {
        const change = { nowMs, by: 'settings', sealer, timeZone }
        const { list, secret } = withClient(stored, data, change)
        const name = isObject(data) ? data['name'] : undefined
        const shown = shownClients(list).find((client) => client.name === name)
        return { value: list, told: { ...shown, ...(secret !== null && { key: secret }) } }
      },
      unset(stored, data) {
        const { name, key } = isObject(data) ? data : {}
        const which = typeof name === 'string' ? { name } : typeof key === 'string' ? { key } : null
        if (which === null) throw new CompileError('data', 'must have the name of a client, or key')
        return { value: withoutClient(stored, which, { sealer }).list, told: null }
      },
    },
  }
}
