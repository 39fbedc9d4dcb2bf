/** Categories with secrets, which can be written but not read. */
import { clientViews, withClient, withoutClient } from '../../catalog/clients/client-changes.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import { mergeAuth, redactAuth } from '../../catalog/settings/access/auth-secrets.ts'
import { checkAuthSettings } from '../../catalog/settings/access/auth-settings.ts'
import { checkGateways } from '../../catalog/settings/money/gateway-settings.ts'
import { mergeGateways, redactGateways } from '../../catalog/settings/money/payment-secrets.ts'
import { FieldError, isObject } from '../../domain/fields.ts'
import type { Category } from './category.ts'

export function secretCategories(sealer: Sealer, timeZone: string): readonly Category[] {
  return [authCategory(sealer), clientsCategory(sealer, timeZone), gatewaysCategory(sealer)]
}

function authCategory(sealer: Sealer): Category {
  return {
    name: 'auth',
    about: 'Directories for login: LDAP and SAML (docs/ACCESS.md).',
    readRole: 'admin',
    check: checkAuthSettings,
    view: redactAuth,
    merge: (value, stored) => mergeAuth(stored, value, sealer),
  }
}

function gatewaysCategory(sealer: Sealer): Category {
  return {
    name: 'payment_gateways',
    about: 'Payment gateways and their secrets (docs/PAYMENT-GATEWAYS.md).',
    readRole: 'admin',
    check: checkGateways,
    view: redactGateways,
    merge: (value, stored) => mergeGateways(stored, value, sealer),
  }
}

/** Clients are edited individually: the answer contains the new secret, once. */
function clientsCategory(sealer: Sealer, timeZone: string): Category {
  return {
    name: 'shared_secret',
    about: 'API clients: programs that request tokens or sign their requests.',
    readRole: 'admin',
    check: () => undefined,
    view: clientViews,
    special: {
      set(stored, data, nowMs) {
        const change = { nowMs, by: 'settings', sealer, timeZone }
        const { list, secret } = withClient(stored, data, change)
        const name = isObject(data) ? data['name'] : undefined
        const view = clientViews(list).find((client) => client.name === name)
        return { value: list, response: { ...view, ...(secret !== null && { key: secret }) } }
      },
      unset(stored, data) {
        const { name, key } = isObject(data) ? data : {}
        const which = typeof name === 'string' ? { name } : typeof key === 'string' ? { key } : null
        if (which === null) throw new FieldError('data', 'must have the name of a client, or key')
        return { value: withoutClient(stored, which, { sealer }).list, response: null }
      },
    },
  }
}
