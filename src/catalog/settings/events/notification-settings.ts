/**
 * Section `settings` of category `events`: to which receiver notifications are sent, and how
 * (docs/EVENTS.md).
 */
import { type Static, Type } from '@sinclair/typebox'
import { isMailbox } from '../../../domain/email.ts'
import { type FieldIssue, throwIssues } from '../../../domain/field-errors.ts'
import {
  FieldError,
  type Fields,
  isObject,
  isWebAddress,
  WEB_ADDRESS_FORM,
} from '../../../domain/fields.ts'
import type { Sealer } from '../../sealing/sealing.ts'
import {
  checkAgainstSchema,
  object,
  oneOf,
  part,
  storedOrDefaults,
  whole,
} from '../settings-schema.ts'

/** Sealed values are longer than the secrets in them. */
const SEALED_LENGTH_MAX = 2048
const SECRET_LENGTH_MIN = 16
const SECRET_LENGTH_MAX = 1024

const period = (byDefault: string) =>
  Type.String({
    pattern: '^\\d{1,4} (second|minute|hour|day)s?$',
    default: byDefault,
    description: "a time as '1 hour'",
  })

/**
 * Fields of rules and of the settings. Stored ones are read as earlier releases accepted them: one
 * receiver ends no rule and no delivery to others. `checkReceivers` refuses new ones.
 */
export const receiverFields = {
  url: Type.Optional(
    Type.String({
      pattern: '^https?://[^\\s/@?#]+([/?#]\\S*)?$',
      maxLength: 1000,
      description: WEB_ADDRESS_FORM,
    }),
  ),
  method: Type.Optional(oneOf('get', 'post')),
  decoder: Type.Optional(oneOf('json', 'xml')),
}

export const emails = Type.Optional(
  Type.Array(
    Type.String({
      pattern: '^[^\\s@]+@[^\\s@]+$',
      maxLength: 254,
      description: 'an e-mail address',
    }),
    { maxItems: 100, description: 'a list of e-mail addresses' },
  ),
)

export const NotificationSection = object('an object', {
  http: part('an object', {
    ...receiverFields,
    num_of_tries: { ...whole(1, 100), default: 10 },
    encoding: { ...oneOf('form', 'json'), default: 'form' },
    timeout_ms: { ...whole(100, 60_000), default: 10_000 },
    retry_seconds: { ...whole(1, 3_600), default: 10 },
    concurrency: { ...whole(1, 100), default: 4 },
    rate_per_second: { ...whole(1, 10_000), default: 100 },
    secret: Type.Optional(
      Type.String({ minLength: 1, maxLength: SEALED_LENGTH_MAX, description: 'a text' }),
    ),
  }),
  email: part('an object', { global_addresses: emails, digest_interval: period('1 hour') }),
  notify: part('an object', { notify_orphan_time: period('1 minute') }),
})

export interface NotificationSettings {
  readonly http: {
    /** Null if only rules have receivers. */
    readonly url: string | null
    readonly method: 'get' | 'post'
    readonly decoder: 'json' | 'xml'
    /** Form of the body of a POST. */
    readonly encoding: 'form' | 'json'
    readonly timeoutMs: number
    readonly triesMax: number
    /** Before the second attempt; each further one waits twice as long. */
    readonly retryMs: number
    /** Requests under way to one receiver, per process. */
    readonly concurrency: number
    readonly ratePerSecond: number
    /** Key of the signature; null: notifications are not signed. */
    readonly secret: string | null
  }
  readonly email: {
    readonly globalAddresses: readonly string[]
    /** Between two digests. */
    readonly intervalMs: number
  }
  /** After which a claimed event is free again. */
  readonly orphanMs: number
  /** Why nothing can be sent by these settings; null if it can. */
  readonly problem: string | null
}

/**
 * The settings in the value of category `events`. Never throws: invalid ones have a `problem`, and
 * default values.
 */
export function notificationSettingsOf(
  value: unknown,
  { open }: Pick<Sealer, 'open'>,
): NotificationSettings {
  const { settings: section = {} } = isObject(value) ? value : {}
  try {
    const stored = checkAgainstSchema(NotificationSection, section, 'events.settings')
    const sealed = stored.http.secret
    const secret = sealed === undefined ? null : open(sealed)
    const isLost = sealed !== undefined && secret === null
    const problem = isLost ? 'events.settings.http.secret cannot be opened: set it again' : null
    return settingsOf(stored, secret, problem)
  } catch (error) {
    if (!(error instanceof FieldError)) throw error
    return settingsOf(storedOrDefaults(NotificationSection, {}), null, error.message)
  }
}

function settingsOf(
  { http, email, notify }: Static<typeof NotificationSection>,
  secret: string | null,
  problem: string | null,
): NotificationSettings {
  return {
    http: {
      url: http.url ?? null,
      method: http.method ?? 'get',
      decoder: http.decoder ?? 'json',
      encoding: http.encoding,
      timeoutMs: http.timeout_ms,
      triesMax: http.num_of_tries,
      retryMs: http.retry_seconds * 1000,
      concurrency: http.concurrency,
      ratePerSecond: http.rate_per_second,
      secret,
    },
    email: {
      globalAddresses: email.global_addresses ?? [],
      intervalMs: periodMs(email.digest_interval),
    },
    orphanMs: periodMs(notify.notify_orphan_time),
    problem,
  }
}

const UNITS_MS: Readonly<Record<string, number>> = {
  second: 1_000,
  minute: 60_000,
  hour: 3_600_000,
  day: 86_400_000,
}

/** A time as `2 hours`. */
function periodMs(text: string): number {
  const [count = '', unit = ''] = text.split(' ')
  return Math.max(1, Number(count)) * (UNITS_MS[unit.replace(/s$/, '')] ?? 0)
}

/** The value of the category without the secret. Accepts any stored value. */
export function redactNotifications(stored: unknown): unknown {
  return withSecret(stored, () => undefined)
}

/** The value with the secret replaced by `visit`, for sealing with another key. */
export function visitNotificationSecret(stored: unknown, visit: (text: string) => string): unknown {
  return withSecret(stored, (text) => (typeof text === 'string' ? visit(text) : text))
}

/**
 * The value to store for one sent by a client: the secret is sealed; one that is not sent is kept,
 * and an empty one removes it. Throws `FieldError` for a secret of another length than permitted.
 */
export function mergeNotifications(
  stored: unknown,
  value: unknown,
  { seal }: Pick<Sealer, 'seal'>,
): unknown {
  return withSecret(value, (text) => {
    if (text === undefined) return httpOf(stored)['secret']
    if (text === '') return undefined
    if (typeof text !== 'string') return text
    if (text.length < SECRET_LENGTH_MIN || text.length > SECRET_LENGTH_MAX) {
      const why = `must have ${SECRET_LENGTH_MIN} to ${SECRET_LENGTH_MAX} characters`
      throw new FieldError('events.settings.http.secret', why)
    }
    return seal(text)
  })
}

function httpOf(value: unknown): Fields {
  return fieldsOf(fieldsOf(fieldsOf(value)['settings'])['http'])
}

function fieldsOf(value: unknown): Fields {
  return isObject(value) ? value : {}
}

function withSecret(value: unknown, replace: (text: unknown) => unknown): unknown {
  if (!isObject(value) || !isObject(value['settings'])) return value
  const { settings } = value
  if (!isObject(settings['http'])) return value
  const { secret, ...http } = settings['http']
  const replaced = replace(secret)
  if (replaced === undefined && secret === undefined) return value
  const next = replaced === undefined ? http : { ...http, secret: replaced }
  return { ...value, settings: { ...settings, http: next } }
}

/** The URLs of receivers in the value of the category, with their paths. */
export function receiverUrlsIn(value: unknown): { path: string; url: URL }[] {
  return receiversIn(value).flatMap(({ path, url }) =>
    typeof url === 'string' && URL.canParse(url)
      ? [{ path: `${path}.url`, url: new URL(url) }]
      : [],
  )
}

/** Throws `FieldError` for URLs and e-mail addresses that no receiver can have. */
export function checkReceivers(value: unknown): void {
  const issues: FieldIssue[] = []
  for (const { path, url, addressesPath, addresses } of receiversIn(value)) {
    if (typeof url === 'string' && !isWebAddress(url)) {
      issues.push({ path: `${path}.url`, reason: `must be ${WEB_ADDRESS_FORM}` })
    }
    for (const [index, address] of (Array.isArray(addresses) ? addresses : []).entries()) {
      if (typeof address === 'string' && isMailbox(address)) continue
      issues.push({ path: `${addressesPath}.${index}`, reason: 'must be an e-mail address' })
    }
  }
  throwIssues(issues)
}

interface StoredReceiver {
  readonly path: string
  readonly url: unknown
  readonly addressesPath: string
  readonly addresses: unknown
}

/** Receivers of the settings and of the rules. Accepts any stored value. */
function receiversIn(value: unknown): StoredReceiver[] {
  const all = fieldsOf(value)
  const path = 'events.settings'
  const found: StoredReceiver[] = [
    {
      path: `${path}.http`,
      url: httpOf(value)['url'],
      addressesPath: `${path}.email.global_addresses`,
      addresses: fieldsOf(fieldsOf(all['settings'])['email'])['global_addresses'],
    },
  ]
  for (const [kind, rules] of Object.entries(all)) {
    for (const [index, rule] of (Array.isArray(rules) ? rules : []).entries()) {
      const { url, notify_by_email: email } = fieldsOf(rule)
      found.push({
        path: `events.${kind}.${index}`,
        url,
        addressesPath: `events.${kind}.${index}.notify_by_email.additional_addresses`,
        addresses: fieldsOf(email)['additional_addresses'],
      })
    }
  }
  return found
}
