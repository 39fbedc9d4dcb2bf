/** Table of setting categories: what may be stored, who may read it, and what is hidden. */
import { isDeepStrictEqual } from 'node:util'
import { Type } from '@sinclair/typebox'
import { NOT_DELETED } from '../../catalog/revisions/validity.ts'
import type { Sealer } from '../../catalog/sealing/sealing.ts'
import { sealerOf } from '../../catalog/sealing/secret-keys.ts'
import { PermissionsSchema } from '../../catalog/settings/access/permission-settings.ts'
import { SECURITY, SecuritySchema } from '../../catalog/settings/access/security-settings.ts'
import {
  mergeCustomers,
  redactCustomers,
} from '../../catalog/settings/customers/customer-secrets.ts'
import {
  checkCustomerSettings,
  partsOf,
  urlsIn,
} from '../../catalog/settings/customers/customer-settings.ts'
import { checkEventSettings } from '../../catalog/settings/events/event-settings.ts'
import {
  mergeNotifications,
  receiverUrlsIn,
  redactNotifications,
} from '../../catalog/settings/events/notification-settings.ts'
import { BillsSchema } from '../../catalog/settings/money/bill-settings.ts'
import { BillrunSchema } from '../../catalog/settings/money/billrun-settings.ts'
import {
  InvoicesSchema,
  type StoredInvoiceSettings,
} from '../../catalog/settings/money/invoice-settings.ts'
import { LinesSchema } from '../../catalog/settings/money/line-settings.ts'
import { PaymentsSchema } from '../../catalog/settings/money/payment-settings.ts'
import { storedDefaultTax, taxationOf } from '../../catalog/settings/money/taxation-settings.ts'
import { checkAgainstSchema, flag, object } from '../../catalog/settings/settings-schema.ts'
import type { Config } from '../../config/schema.ts'
import { isEmail } from '../../domain/email.ts'
import { FieldError, isObject } from '../../domain/fields.ts'
import {
  type AddressPolicy,
  addressProblem,
  createAddressPolicy,
  UNRESOLVED,
} from '../../external/address-policy.ts'
import type { Categories, Category, FixedCategory, VerifyContext } from './category.ts'
import { fieldCategories } from './field-categories.ts'
import { fileTypesCategory, PEERS } from './list-categories.ts'
import { secretCategories } from './secret-categories.ts'

/** `more`: categories whose secrets need keys of the installation. */
export function createCategories(config: Config, more: readonly Category[] = []): Categories {
  const sealer = sealerOf(config)
  const { privateRanges } = config.external
  const own = [
    fileTypesCategory(config),
    PEERS,
    ...fieldCategories().map((category) =>
      category.name === 'subscribers'
        ? customerCategory(category, sealer, privateRanges)
        : category,
    ),
    PLAYS,
    INVOICES,
    taxationCategory(config),
    SECURITY_CATEGORY,
    PAYMENTS,
    BILLS,
    PERMISSIONS,
    eventsCategory(sealer, privateRanges),
    LINES,
    billrunCategory(config),
    ...secretCategories(sealer, config.rating.timeZone),
  ]
  return {
    stored: new Map([...own, ...more].map((category) => [category.name, category])),
    fixed: new Map(Object.entries(fixedCategories(config))),
  }
}

export const PlaysSchema = object('an object of plays', {
  plays: Type.Optional(
    Type.Array(
      object('an object with a name', {
        name: Type.String({
          pattern: '^[\\w-]{1,64}$',
          description: '1 to 64 letters, digits, _ and -',
        }),
        label: Type.Optional(Type.String({ maxLength: 200, description: 'a text' })),
        enabled: flag,
        default: flag,
      }),
      { maxItems: 1000, description: 'a list' },
    ),
  ),
})

const PAYMENTS: Category = {
  name: 'payments',
  about:
    'Payments: further sources and fields of `uf` (`offline`), which debts are collected ' +
    '(`collection`), repetition of rejected charges (`retry_days`), gateway of new cards ' +
    '(`gateway`), origins of the pages to which customers return (`return_origins`).',
  readRole: 'read',
  check: (value) => checkAgainstSchema(PaymentsSchema, value, 'payments'),
}

const BILLS: Category = {
  name: 'bills',
  about:
    'Bills: whether new money covers the oldest ones before unconfirmed payments do ' +
    '(`switch_links`), and fields of `uf` of payments and bills (`uf`).',
  readRole: 'read',
  check: (value) => checkAgainstSchema(BillsSchema, value, 'bills'),
}

const INVOICES: Category = {
  name: 'invoices',
  about:
    'Invoices: the seller (`seller`, `iban`, `bic`), their form (`language`, `columns`, ' +
    '`payment_terms`, `footer`), and VAT categories of lines without tax (`untaxed`, `taxes`).',
  readRole: 'read',
  check(value) {
    checkAgainstSchema(InvoicesSchema, value, 'invoices')
    const { seller } = value as StoredInvoiceSettings
    if (seller?.email === undefined || seller.email === '' || isEmail(seller.email)) return
    throw new FieldError('invoices.seller.email', 'must be an e-mail address')
  },
}

const PLAYS: Category = {
  name: 'plays',
  about: 'Plays. Each subscriber has one of them if there are several.',
  readRole: 'read',
  check(value) {
    checkAgainstSchema(PlaysSchema, value, 'plays')
    const { plays = [] } = value as {
      plays?: { name: string; enabled?: boolean; default?: boolean }[]
    }
    for (const [index, { name, ...play }] of plays.entries()) {
      const at = `plays.plays.${index}`
      const others = plays.slice(0, index)
      if (others.some((other) => other.name === name)) {
        throw new FieldError(`${at}.name`, `'${name}' occurs twice`)
      }
      if (play.default !== true) continue
      if (play.enabled !== true) {
        throw new FieldError(`${at}.default`, 'must not be true for a play that is not enabled')
      }
      if (others.some((other) => other.default === true)) {
        throw new FieldError(`${at}.default`, 'is already true for another play')
      }
    }
  },
  merge: (value) => (Array.isArray(value) ? { plays: value } : value),
}

function taxationCategory({ rating }: Pick<Config, 'rating'>): Category {
  return {
    name: 'taxation',
    about: 'Tax for rates that name none: `default`, `mapping` and `tax_type`.',
    readRole: 'read',
    check(value) {
      taxationOf(value, rating)
    },
    verify: refuseUnknownTax,
    effective(stored) {
      const { mapping = rating.taxMapping } = isObject(stored) ? stored : {}
      const { defaultTax, taxType } = taxationOf(stored, rating)
      return { default: defaultTax, mapping, tax_type: taxType }
    },
  }
}

/** A missing default tax would make all charging fail: rates without a valid tax have no price. */
async function refuseUnknownTax(
  value: unknown,
  stored: unknown,
  { catalog, nowMs }: VerifyContext,
): Promise<void> {
  const key = storedDefaultTax(value)
  if (key === null || key === storedKeyOrNull(stored)) return
  const at = new Date(nowMs)
  const held = { from: { $lte: at }, to: { $gt: at }, ...NOT_DELETED }
  const found = await catalog.taxes.findOne({ key, ...held }, { projection: { _id: 1 } })
  if (found !== null) return
  throw new FieldError('taxation.default', `must be the key of a tax in force, is '${key}'`)
}

function storedKeyOrNull(stored: unknown): string | null {
  try {
    return storedDefaultTax(stored)
  } catch {
    return null
  }
}

const SECURITY_CATEGORY: Category = {
  name: 'security',
  about: 'Sessions, passwords, lock-out, rate limits, OAuth, signatures and CORS.',
  readRole: 'admin',
  check(value) {
    if (!isObject(value)) throw new FieldError('security', 'must be an object')
    // Missing settings have defaults.
    checkAgainstSchema(SecuritySchema, value, 'security')
  },
  effective: (stored) => SECURITY.read(stored),
}

const PERMISSIONS: Category = {
  name: 'permissions',
  about: 'Permission rules that replace the usual roles of actions.',
  readRole: 'admin',
  check: (value) => checkAgainstSchema(PermissionsSchema, value, 'permissions'),
}

const LINES: Category = {
  name: 'lines',
  about: 'Fields of credits that callers may set in `uf`: `credit.fields`.',
  readRole: 'read',
  check: (value) => checkAgainstSchema(LinesSchema, value, 'lines'),
}

/** Processes with different charging days would count the same usage in two cycles. */
function billrunCategory({ rating }: Pick<Config, 'rating'>): Category {
  const day = { charging_day: rating.cycleDay }
  return {
    name: 'billrun',
    about:
      'The billing cycle (docs/BILLING-CYCLE.md); `charging_day`: day of the month on which it ' +
      'begins.',
    readRole: 'read',
    check(value) {
      checkAgainstSchema(BillrunSchema, value, 'billrun')
    },
    merge(value) {
      if (!isObject(value) || !('charging_day' in value)) return value
      const { charging_day: chargingDay, ...rest } = value
      if (chargingDay === day.charging_day) return rest
      const instead = 'set rating.cycleDay in the configuration of all processes instead'
      const reason = `cannot be changed while the node runs: ${instead}`
      throw new FieldError('billrun.charging_day', reason)
    },
    view: (stored) => ({ ...day, ...(isObject(stored) ? stored : {}) }),
  }
}

function fixedCategories({ rating }: Pick<Config, 'rating'>): Record<string, FixedCategory> {
  const instead = (key: string) => `set ${key} in the configuration of all processes instead`
  return {
    currency: {
      about: 'Numeric code of the currency of all money (ISO 4217).',
      value: rating.currencyCode,
      instead: instead('rating.currencyCode'),
    },
    timezone: {
      about: 'Time zone of the installation (IANA).',
      value: rating.timeZone,
      instead: `${instead('rating.timeZone')}, and start them again: all counters restart with it`,
    },
  }
}

/** Category `events`: rules that make events, and the receivers of notifications. */
function eventsCategory(sealer: Sealer, privateRanges: readonly string[]): Category {
  const policy = createAddressPolicy(privateRanges)
  return {
    name: 'events',
    about:
      'Rules that make events: of balances (`balance`), money (`money`) and usage patterns ' +
      '(`fraud`); to whom the events are sent (`settings`; docs/EVENTS.md).',
    readRole: 'read',
    check: checkEventSettings,
    // Each connection is checked again. Rules for receivers that do not exist yet may be stored.
    verify: (value, stored) =>
      refuseNewAddresses(receiverUrlsIn(value), receiverUrlsIn(stored), policy, true),
    view: redactNotifications,
    merge: (value, stored) => mergeNotifications(stored, value, sealer),
  }
}

/** `fields`: the category as far as it consists of configured fields. */
function customerCategory(
  fields: Category,
  sealer: Sealer,
  privateRanges: readonly string[],
): Category {
  const policy = createAddressPolicy(privateRanges)
  return {
    ...fields,
    about:
      `${fields.about} Customers in another system: \`subscriber.type\`, \`account.type\`, ` +
      'addresses, authentication and caches (docs/EXTERNAL.md).',
    check(value, stored) {
      const now = partsOf(value)
      const before = partsOf(stored)
      fields.check(now.others, before.others)
      // A value that others stored does not prevent changes of fields.
      if (!isDeepStrictEqual(now.own, before.own)) checkCustomerSettings(now.own)
    },
    verify: (value, stored) =>
      refuseNewAddresses(urlsIn(partsOf(value).own), urlsIn(partsOf(stored).own), policy),
    view: redactCustomers,
    merge: (value, stored) => mergeCustomers(stored, value, sealer),
    effective: (stored) => fields.effective?.(redactCustomers(stored)),
  }
}

interface SettingsUrl {
  readonly path: string
  readonly url: URL
}

/**
 * Throws `FieldError` for the first address that was not stored and must not be called.
 * `mayBeUnresolved`: whether names that cannot be resolved are accepted.
 */
async function refuseNewAddresses(
  urls: readonly SettingsUrl[],
  stored: readonly SettingsUrl[],
  policy: AddressPolicy,
  mayBeUnresolved = false,
): Promise<void> {
  const known = new Set(stored.map(({ url }) => url.href))
  for (const { path, url } of urls) {
    if (known.has(url.href)) continue
    known.add(url.href)
    const problem = await addressProblem(url, policy)
    if (problem === UNRESOLVED && mayBeUnresolved) continue
    if (problem !== null) throw new FieldError(path, problem)
  }
}
