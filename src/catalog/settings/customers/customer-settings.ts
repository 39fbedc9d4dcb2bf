/**
 * External customer mode, a part of category `subscribers` of the stored configuration: whether
 * subscribers and accounts are asked from a customer system, its addresses, and how long its
 * answers are kept (docs/EXTERNAL.md).
 */
import { X509Certificate } from 'node:crypto'
import { type Static, type TProperties, Type } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { isDateFormat } from '../../../domain/date-format.ts'
import { FieldError, type Fields, isObject } from '../../../domain/fields.ts'
import type { Sealer } from '../../sealing/sealing.ts'
import { checkAgainstSchema, flag, object, oneOf, webAddress, whole } from '../settings-schema.ts'

const optional = Type.Optional
const text = (maxLength = 1024) => Type.String({ minLength: 1, maxLength, description: 'a text' })
/** An empty text counts as absent. */
const emptyOrText = () => Type.String({ maxLength: 1024, description: 'a text' })
/** Sealed values are longer than the secrets in them. */
const secret = () => text(2048)

const AuthenticationSchema = object('an object of type, access_token_url, cache and data', {
  type: oneOf('oauth2', 'basic', 'none'),
  access_token_url: optional(webAddress),
  cache: flag,
  data: optional(
    object('an object', {
      grant_type: optional(
        Type.Literal('client_credentials', { description: 'client_credentials' }),
      ),
      client_id: optional(text()),
      client_secret: optional(secret()),
      scope: optional(emptyOrText()),
      audience: optional(emptyOrText()),
      username: optional(emptyOrText()),
      password: optional(secret()),
    }),
  ),
})

const callFields = {
  authentication: optional(AuthenticationSchema),
  external_ca: optional(
    Type.String({ maxLength: 100_000, description: 'certificates of authorities as PEM' }),
  ),
} satisfies TProperties

const detailsFields = {
  ...callFields,
  type: optional(
    Type.Union([Type.Literal('external'), Type.Literal('local'), Type.Literal('db')], {
      description: 'external or local',
    }),
  ),
  external_url: optional(webAddress),
  external_timeout_ms: optional(whole(10, 60_000)),
  external_cache_enabled: flag,
  external_cache_ttl: optional(whole(1, 86_400)),
  external_cache_stale: optional(whole(0, 604_800)),
} satisfies TProperties

const SubscriberFields = { ...detailsFields, external_batch_max: optional(whole(1, 1000)) }

const AccountFields = {
  ...detailsFields,
  cache_gba_to_gsd: optional(object('an object of enabled', { enabled: flag })),
}

const BillableFields = {
  ...callFields,
  url: optional(webAddress),
  timeout_ms: optional(whole(100, 3_600_000)),
  size: optional(whole(1, 100_000)),
  encoding: optional(
    Type.Union([Type.Literal('json'), Type.Literal('form')], { description: 'json or form' }),
  ),
  single_day_cycle_format: optional(text(64)),
} satisfies TProperties

const SubscriberSection = object('an object', SubscriberFields)
const AccountSection = object('an object', AccountFields)
const BillableSection = object('an object', BillableFields)

/** The settings of this file in the category: keys of an object are its own settings. */
const SECTIONS = {
  subscriber: SubscriberSection,
  account: AccountSection,
  billable: BillableSection,
}

export type CustomerHolder = 'subscriber' | 'account'
export type CustomerCall = keyof typeof SECTIONS

export const CUSTOMER_CALLS = ['subscriber', 'account', 'billable'] as const

/**
 * Divides the value of the category: `own` has the settings of this file, `others` the rest
 * (configured fields).
 */
export function partsOf(value: unknown): { own: Fields; others: unknown } {
  if (!isObject(value)) return { own: {}, others: value }
  const own: Record<string, unknown> = {}
  const others: Record<string, unknown> = { ...value }
  if ('external_authentication' in value) {
    own['external_authentication'] = value['external_authentication']
    delete others['external_authentication']
  }
  for (const call of CUSTOMER_CALLS) {
    const section = value[call]
    if (!isObject(section)) continue
    const known = Object.keys(SECTIONS[call].properties)
    const entries = Object.entries(section)
    // The other sections have configured fields as well.
    const isOwn = ([name]: [string, unknown]) => call === 'billable' || known.includes(name)
    const mine = entries.filter(isOwn)
    const rest = entries.filter((entry) => !isOwn(entry))
    if (mine.length > 0) own[call] = Object.fromEntries(mine)
    if (rest.length > 0 || mine.length === 0) others[call] = Object.fromEntries(rest)
    else delete others[call]
  }
  return { own, others }
}

/** Throws `FieldError` with the path of the first mistake. `own`: of `partsOf`. */
export function checkCustomerSettings(own: Fields): void {
  const { external_authentication: general } = own
  if (general !== undefined) checkAuthentication(general, 'subscribers.external_authentication')
  for (const call of CUSTOMER_CALLS) {
    const section = own[call]
    if (section === undefined) continue
    const path = `subscribers.${call}`
    checkAgainstSchema(SECTIONS[call], section, path)
    const { authentication, external_ca: ca = '' } = section as Fields
    if (authentication !== undefined) checkAuthentication(authentication, `${path}.authentication`)
    if (typeof ca === 'string' && ca !== '' && !areCertificates(ca)) {
      throw new FieldError(`${path}.external_ca`, 'must be certificates as PEM')
    }
    const format = (section as Fields)['single_day_cycle_format']
    if (typeof format === 'string' && !isDateFormat(format)) {
      const why = 'must be a format such as YYYY-MM-DD or YYYY-MM-DD HH:MM:SS'
      throw new FieldError(`${path}.single_day_cycle_format`, why)
    }
    if (call !== 'billable' && isExternal(section) && !('external_url' in (section as object))) {
      throw new FieldError(`${path}.external_url`, 'must be set before type is external')
    }
  }
}

function checkAuthentication(value: unknown, path: string): void {
  checkAgainstSchema(AuthenticationSchema, value, path)
  const {
    type,
    access_token_url: tokenUrl,
    data = {},
  } = value as Static<typeof AuthenticationSchema>
  if (type === 'oauth2' && tokenUrl === undefined) {
    throw new FieldError(`${path}.access_token_url`, 'is missing', 'missing')
  }
  for (const name of REQUIRED[type]) {
    if ((data[name] ?? '').trim() === '')
      throw new FieldError(`${path}.data.${name}`, 'is missing', 'missing')
  }
}

const REQUIRED = {
  oauth2: ['client_id', 'client_secret'],
  basic: ['username', 'password'],
  none: [],
} as const

function areCertificates(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? []
  try {
    return blocks.length > 0 && blocks.every((block) => new X509Certificate(block).raw.length > 0)
  } catch {
    return false
  }
}

/** All addresses in the settings, with their paths: they are called. */
export function urlsIn(own: Fields): { path: string; url: URL }[] {
  const found: { path: string; url: URL }[] = []
  const add = (path: string, value: unknown) => {
    if (typeof value === 'string' && URL.canParse(value)) found.push({ path, url: new URL(value) })
  }
  const addToken = (path: string, value: unknown) => {
    if (isObject(value)) add(`${path}.access_token_url`, value['access_token_url'])
  }
  addToken('subscribers.external_authentication', own['external_authentication'])
  for (const call of CUSTOMER_CALLS) {
    const section = own[call]
    if (!isObject(section)) continue
    const name = addressName(call)
    add(`subscribers.${call}.${name}`, section[name])
    addToken(`subscribers.${call}.authentication`, section['authentication'])
  }
  return found
}

export function addressName(call: CustomerCall): string {
  return call === 'billable' ? 'url' : 'external_url'
}

function isExternal(value: unknown): boolean {
  return isObject(value) && value['type'] === 'external'
}

/** How a call authenticates; a secret that cannot be opened is null. */
export type CustomerAuthentication =
  | { readonly type: 'none' }
  | { readonly type: 'basic'; readonly username: string; readonly password: string | null }
  | {
      readonly type: 'oauth2'
      readonly tokenUrl: string
      readonly isCached: boolean
      readonly clientSecret: string | null
      readonly data: Readonly<Record<string, string>>
    }

export interface CustomerCallSettings {
  readonly url: string
  readonly timeoutMs: number
  readonly ca: string
  readonly authentication: CustomerAuthentication
  /** Why the settings cannot be used; null if they can. */
  readonly problem: string | null
}

export interface DetailsSettings extends CustomerCallSettings {
  /** How long an answer is used before it is asked again; 0: only by the requests that wait. */
  readonly ttlMs: number
  /** How long it may be used beyond that while it is asked again. */
  readonly staleMs: number
}

export interface BillableSettings extends CustomerCallSettings {
  readonly size: number
  readonly encoding: 'json' | 'form'
  /** Empty for the default. */
  readonly singleDayCycleFormat: string
}

export interface CustomerSettings {
  /** Null if subscribers are entities of the node. */
  readonly subscriber: (DetailsSettings & { readonly queriesMax: number }) | null
  readonly account: DetailsSettings | null
  /** Null if no address is set. */
  readonly billable: BillableSettings | null
  /** Whether answers of the billable call fill the caches of subscribers and accounts. */
  readonly fillsFromBillable: boolean
}

const DETAILS_TIMEOUT_MS = 1000
const BILLABLE_TIMEOUT_MS = 600_000
const TTL_S = 300
const STALE_S = 3600
const QUERIES_MAX = 100
const BILLABLE_SIZE = 100

/**
 * The settings in the value of category `subscribers`. Never throws: if they are invalid, their
 * calls have a `problem`, because charging by local entities instead would be wrong.
 */
export function customerSettingsOf(
  value: unknown,
  { open }: Pick<Sealer, 'open'>,
): CustomerSettings {
  const { own } = partsOf(value)
  const general = authenticationOf(own['external_authentication'], open)
  const problem = problemOf(own)
  const callOf = (section: Fields, url: unknown, timeoutMs: unknown): CustomerCallSettings => ({
    url: String(url ?? ''),
    timeoutMs: Number(timeoutMs),
    ca: String(section['external_ca'] ?? ''),
    authentication: authenticationOf(section['authentication'], open) ??
      general ?? { type: 'none' },
    problem,
  })
  const account = sectionOf(own, 'account', AccountSection)
  const detailsOf = (section: Partial<Static<typeof AccountSection>>): DetailsSettings | null => {
    if (section.type !== 'external') return null
    const { external_timeout_ms: timeoutMs = DETAILS_TIMEOUT_MS } = section
    const cache = { ...account, ...section }
    const isCached = cache.external_cache_enabled ?? true
    return {
      ...callOf(section, section.external_url, timeoutMs),
      ttlMs: isCached ? (cache.external_cache_ttl ?? TTL_S) * 1000 : 0,
      staleMs: isCached ? (cache.external_cache_stale ?? STALE_S) * 1000 : 0,
    }
  }
  const subscriber = sectionOf(own, 'subscriber', SubscriberSection)
  const details = detailsOf(subscriber)
  const queriesMax = subscriber.external_batch_max ?? QUERIES_MAX
  const billable = sectionOf(own, 'billable', BillableSection)
  return {
    subscriber: details === null ? null : { ...details, queriesMax },
    account: detailsOf(account),
    billable:
      billable.url === undefined
        ? null
        : {
            ...callOf(billable, billable.url, billable.timeout_ms ?? BILLABLE_TIMEOUT_MS),
            size: billable.size ?? BILLABLE_SIZE,
            encoding: billable.encoding ?? 'json',
            singleDayCycleFormat: billable.single_day_cycle_format ?? '',
          },
    fillsFromBillable: account.cache_gba_to_gsd?.enabled ?? false,
  }
}

function problemOf(own: Fields): string | null {
  try {
    checkCustomerSettings(own)
    return null
  } catch (error) {
    if (error instanceof FieldError) return error.message
    throw error
  }
}

/** An invalid section has only its type, and its calls are refused. */
function sectionOf<T extends (typeof SECTIONS)[CustomerCall]>(
  own: Fields,
  call: CustomerCall,
  schema: T,
): Partial<Static<T>> {
  const section = own[call]
  if (Value.Check(schema, section)) return section as Static<T>
  return (isExternal(section) ? { type: 'external' } : {}) as Partial<Static<T>>
}

function authenticationOf(value: unknown, open: Sealer['open']): CustomerAuthentication | null {
  if (!Value.Check(AuthenticationSchema, value)) return null
  const { type, access_token_url: tokenUrl = '', cache: isCached = true, data = {} } = value
  const { client_secret: clientSecret = '', password = '', username = '', ...fields } = data
  if (type === 'none') return { type }
  if (type === 'basic') return { type, username, password: open(password) }
  const filled = Object.entries(fields).filter(([, field]) => field.trim() !== '')
  const request = { grant_type: 'client_credentials', ...Object.fromEntries(filled) }
  return { type, tokenUrl, isCached, clientSecret: open(clientSecret), data: request }
}
